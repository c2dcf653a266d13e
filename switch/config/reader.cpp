// Names, lists and ranges in the keys of CONFIG_DB.
#include "switch/config/reader.hpp"

#include <algorithm>

namespace vroce::sw {
namespace {

constexpr unsigned kRangeEnd = 8;  ///< of priority groups and of queues

/// Cuts the text in front of the separator off `rest`; all of it when there is none.
std::string_view cut(std::string_view& rest, char separator) {
    const std::size_t at = rest.find(separator);
    const std::string_view part = rest.substr(0, at);
    rest.remove_prefix(at == std::string_view::npos ? rest.size() : at + 1);
    return part;
}

std::optional<unsigned> range_end(std::string_view text) {
    if (text.size() != 1 || text[0] < '0' || text[0] >= static_cast<char>('0' + kRangeEnd)) return std::nullopt;
    return static_cast<unsigned>(text[0] - '0');
}

}  // namespace

const ConfigTable* TableReader::find(const std::string& table) {
    known_tables_.push_back(table);
    return document_.find(table);
}

Status TableReader::fields(const std::string& table, const ConfigEntry& entry,
                           const std::map<std::string, FieldSetter>& setters) {
    for (const ConfigField& field : entry.fields) {
        const auto setter = setters.find(field.name);
        if (setter == setters.end()) {
            ++unknown_fields_[table + ": field " + field.name];
            continue;
        }
        if (Status status = setter->second({document_.file, table, entry.key, field}); !status) return status;
    }
    return Done{};
}

Error TableReader::refuse(const std::string& table, const std::string& key, const std::string& why) const {
    return Error{fmt::format("{}: {}|{}: {}", document_.file, table, key, why)};
}

std::optional<PortId> TableReader::port_by_name(std::string_view name) const {
    for (std::size_t i = 0; i < core_.ports.size(); ++i)
        if (core_.ports[i].name == name) return static_cast<PortId>(i);
    return std::nullopt;
}

Result<std::vector<PortId>> TableReader::port_list(const std::string& table, const std::string& key,
                                                   std::string_view names) const {
    std::vector<PortId> ports;
    for (bool more = true; more;) {
        more = names.find(',') != std::string_view::npos;
        const std::string_view name = cut(names, ',');
        const std::optional<PortId> port = port_by_name(name);
        if (!port) {
            return refuse(table, key, fmt::format("unknown port \"{}\"; allowed: the entries of table PORT", name));
        }
        ports.push_back(*port);
    }
    return ports;
}

Result<std::vector<PortId>> TableReader::ports_of(const std::string& table, const std::string& key) const {
    return port_list(table, key, key);
}

Result<PortsAndRange> TableReader::ports_and_range(const std::string& table, const std::string& key) const {
    std::string_view rest = key;
    const std::string_view names = cut(rest, '|');
    const bool pair = rest.find('-') != std::string_view::npos;
    const std::optional<unsigned> first = range_end(cut(rest, '-'));
    const std::optional<unsigned> last = pair ? range_end(rest) : first;
    if (!first || !last || *last < *first) {
        return refuse(table, key, "not ports and a range; allowed: PORT[,PORT…]|N or PORT[,PORT…]|N-M, N and M 0..7");
    }
    Result<std::vector<PortId>> ports = port_list(table, key, names);
    if (!ports) return Error{ports.error()};
    return PortsAndRange{std::move(*ports), *first, *last};
}

FieldSetter TableReader::without_effect() {
    return [this](const FieldPlace& place) -> Status {
        ++idle_fields_[place.table + ": field " + place.field.name];
        return Done{};
    };
}

std::vector<std::string> TableReader::finish() {
    for (const ConfigTable& table : document_.tables) {
        if (std::find(known_tables_.begin(), known_tables_.end(), table.name) != known_tables_.end()) continue;
        std::string keys;
        for (const ConfigEntry& entry : table.entries) keys += (keys.empty() ? ": " : ", ") + entry.key;
        warn(fmt::format("table {} is not known and has no effect{}", table.name, keys));
    }
    for (const auto& [field, count] : unknown_fields_)
        warn(fmt::format("{} is not known and has no effect (in {} entries)", field, count));
    for (const auto& [field, count] : idle_fields_)
        warn(fmt::format("{} has no effect in this switch (in {} entries)", field, count));
    return std::move(warnings_);
}

std::string referenced_name(const std::string& text, const std::string& table) {
    if (text.empty() || text.front() != '[') return text;
    const std::string front = "[" + table + "|";
    if (text.rfind(front, 0) != 0 || text.back() != ']') return {};
    return text.substr(front.size(), text.size() - front.size() - 1);
}

}  // namespace vroce::sw

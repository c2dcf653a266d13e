// JSON to tables. Exceptions of the JSON library end here.
#include "switch/config/document.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

namespace vroce::sw {
namespace {

using Json = nlohmann::ordered_json;

/// Remembers the keys of each open object, since the library would silently let the last of two equal keys win.
class RepeatedKeys {
public:
    bool operator()(int /*depth*/, Json::parse_event_t event, const Json& parsed) {
        if (event == Json::parse_event_t::object_start) open_.emplace_back();
        if (event == Json::parse_event_t::object_end) open_.pop_back();
        if (event == Json::parse_event_t::key && !open_.back().insert(parsed.get<std::string>()).second &&
            first_.empty()) {
            first_ = parsed.get<std::string>();
        }
        return true;
    }
    const std::string& first() const { return first_; }

private:
    std::vector<std::set<std::string>> open_;
    std::string first_;
};

/// "[json.exception.parse_error.101] parse error at line 3, column 7: …" without the library's own prefix.
std::string plain_message(const nlohmann::json::exception& problem) {
    const std::string text = problem.what();
    const std::size_t end = text.find("] ");
    return end == std::string::npos ? text : text.substr(end + 2);
}

Result<ConfigTable> read_table(const std::string& file, const std::string& name, const Json& value) {
    if (!value.is_object()) return Error{fmt::format("{}: {}: not a table; allowed: an object of entries", file, name)};
    ConfigTable table{name, {}};
    for (const auto& [key, fields] : value.items()) {
        if (!fields.is_object()) {
            return Error{fmt::format("{}: {}|{}: not an entry; allowed: an object of fields", file, name, key)};
        }
        ConfigEntry entry{key, {}};
        for (const auto& [field, content] : fields.items()) {
            const bool scalar = content.is_string() || content.is_number() || content.is_boolean();
            entry.fields.push_back({field, content.is_string() ? content.get<std::string>() : content.dump(), scalar});
        }
        table.entries.push_back(std::move(entry));
    }
    return table;
}

Result<ConfigDocument> to_document(const Json& root, const std::string& file) {
    if (!root.is_object()) return Error{fmt::format("{}: not a configuration; allowed: an object of tables", file)};
    ConfigDocument document{file, {}};
    for (const auto& [name, value] : root.items()) {
        Result<ConfigTable> table = read_table(file, name, value);
        if (!table) return Error{table.error()};
        document.tables.push_back(std::move(*table));
    }
    return document;
}

}  // namespace

Result<ConfigDocument> parse_document(std::string_view text, const std::string& file) {
    if (text.size() > kMaxConfigBytes) {
        return Error{fmt::format("{}: larger than a configuration may be; allowed: {} bytes", file, kMaxConfigBytes)};
    }
    try {
        RepeatedKeys repeated;
        const Json root = Json::parse(text, std::ref(repeated), true, /*ignore_comments=*/true);
        if (!repeated.first().empty()) return Error{fmt::format("{}: \"{}\" is there twice", file, repeated.first())};
        return to_document(root, file);
    } catch (const nlohmann::json::exception& problem) {
        return Error{fmt::format("{}: {}", file, plain_message(problem))};
    }
}

Result<ConfigDocument> read_document(const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    if (!stream) return Error{fmt::format("{}: cannot be opened: {}", file, std::strerror(errno))};
    std::string text(kMaxConfigBytes + 1, '\0');
    stream.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (stream.bad() || (stream.gcount() == 0 && !stream.eof())) {
        return Error{fmt::format("{}: cannot be read: {}", file, std::strerror(errno))};
    }
    text.resize(static_cast<std::size_t>(stream.gcount()));
    return parse_document(text, file);
}

}  // namespace vroce::sw

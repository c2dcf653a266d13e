// One table says which words there are, and drives words, JSON and printing alike.
#include "common/dcb/dcb_request.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

namespace vroce {

namespace {

using nlohmann::json;

struct Name {
    std::string_view text;
    std::uint64_t value;
};

constexpr std::array<Name, 2> kSwitch{{{"off", 0}, {"on", 1}}};
constexpr std::array<Name, 2> kTsa{{{"strict", kTsaStrict}, {"ets", kTsaEts}}};
constexpr std::array<Name, 2> kSelectors{{{"dscp", 0}, {"pcp", 1}}};
/// RFC 2474, 2597, 3246, 5865, 8622; as iproute2 has them in its rt_dsfield.
constexpr std::array<Name, 23> kDscpNames{
    {{"CS0", 0},   {"CS1", 8},   {"CS2", 16},  {"CS3", 24},  {"CS4", 32},  {"CS5", 40},  {"CS6", 48},  {"CS7", 56},
     {"AF11", 10}, {"AF12", 12}, {"AF13", 14}, {"AF21", 18}, {"AF22", 20}, {"AF23", 22}, {"AF31", 26}, {"AF32", 28},
     {"AF33", 30}, {"AF41", 34}, {"AF42", 36}, {"AF43", 38}, {"EF", 46},   {"VA", 44},   {"LE", 1}}};
/// tc's units: bits in powers of 1000; "bps" counts bytes.
constexpr std::array<Name, 10> kRateUnits{{{"bit", 1},
                                           {"", 1},
                                           {"Kbit", 1'000},
                                           {"Mbit", 1'000'000},
                                           {"Gbit", 1'000'000'000},
                                           {"Tbit", 1'000'000'000'000},
                                           {"bps", 8},
                                           {"Kbps", 8'000},
                                           {"Mbps", 8'000'000},
                                           {"Gbps", 8'000'000'000}}};
constexpr std::array<Name, 8> kSizeUnits{{{"", 1},
                                          {"b", 1},
                                          {"K", 1u << 10},
                                          {"KB", 1u << 10},
                                          {"M", 1u << 20},
                                          {"MB", 1u << 20},
                                          {"G", 1u << 30},
                                          {"GB", 1u << 30}}};

enum class Form : std::uint8_t {
    kArray,  ///< KEY:VALUE…
    kList,   ///< VALUE…, keys count from 0
};

struct Table {
    std::string_view object;
    std::string_view name;
    Form form;
    unsigned keys;                ///< 0..keys-1
    std::span<const Name> names;  ///< of values; none: numbers
    std::span<const Name> units;  ///< behind numbers
    std::uint64_t value_max;
    std::string_view allowed;  ///< values in words
    bool dscp_keys = false;    ///< may be named: AF31
    bool dscp_values = false;
};

constexpr std::uint64_t kRateMax = 1'600'000'000'000;
constexpr std::uint64_t kSizeMax = std::uint64_t{4} << 30;

constexpr std::array<Table, 13> kTables{{
    {"pfc", "prio-pfc", Form::kArray, 8, kSwitch, {}, 1, "on or off"},
    {"ets", "prio-tc", Form::kArray, 8, {}, {}, 7, "0 to 7"},
    {"ets", "tc-tsa", Form::kArray, 8, kTsa, {}, kTsaEts, "strict or ets"},
    {"ets", "tc-bw", Form::kArray, 8, {}, {}, 100, "0 to 100 (percent)"},
    {"app", "dscp-prio", Form::kArray, 64, {}, {}, 7, "0 to 7", true},
    {"app", "pcp-prio", Form::kArray, 8, {}, {}, 7, "0 to 7"},
    {"app", "default-prio", Form::kList, 1, {}, {}, 7, "0 to 7"},
    {"apptrust", "order", Form::kList, 2, kSelectors, {}, 1, "dscp and pcp, each at most once"},
    {"rewr", "prio-dscp", Form::kArray, 8, {}, {}, 63, "0 to 63", false, true},
    {"rewr", "prio-pcp", Form::kArray, 8, {}, {}, 7, "0 to 7"},
    {"buffer", "prio-buffer", Form::kArray, 8, {}, {}, 7, "0 to 7"},
    {"buffer", "buffer-size", Form::kArray, 8, {}, kSizeUnits, kSizeMax, "a size such as 64K or 1M"},
    {"maxrate", "tc-maxrate", Form::kArray, 8, {}, kRateUnits, kRateMax, "a rate such as 25Gbit, 0: no limit"},
}};

const Table* find_table(std::string_view object, std::string_view name) {
    const auto found = std::find_if(kTables.begin(), kTables.end(),
                                    [&](const Table& t) { return t.object == object && t.name == name; });
    return found == kTables.end() ? nullptr : &*found;
}

std::string tables_of(std::string_view object) {
    std::string list;
    for (const Table& table : kTables) {
        if (table.object == object) list += (list.empty() ? "" : ", ") + std::string(table.name);
    }
    return list;
}

bool has_entries(std::string_view object) {
    return object == "app" || object == "rewr";
}

std::string verbs_of(std::string_view object) {
    return has_entries(object) ? "add, replace, del, flush, show" : "set, show";
}

std::optional<DcbVerb> verb_of(std::string_view object, std::string_view verb) {
    if (!has_entries(object)) return verb == "set" ? std::optional(DcbVerb::kSet) : std::nullopt;
    if (verb == "add") return DcbVerb::kAdd;
    if (verb == "replace") return DcbVerb::kReplace;
    if (verb == "del") return DcbVerb::kDel;
    if (verb == "flush") return DcbVerb::kFlush;
    return std::nullopt;
}

std::string_view verb_name(DcbVerb verb) {
    static constexpr std::array<std::string_view, 5> kNames{"set", "add", "replace", "del", "flush"};
    return kNames[static_cast<std::size_t>(verb)];
}

bool equal_but_for_case(std::string_view a, std::string_view b) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

std::optional<std::uint64_t> named(std::span<const Name> names, std::string_view text) {
    for (const Name& name : names) {
        if (equal_but_for_case(name.text, text)) return name.value;
    }
    return std::nullopt;
}

/// A whole number with one of the units; none given: without any.
std::optional<std::uint64_t> number(std::string_view text, std::span<const Name> units) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end == text.data()) return std::nullopt;
    const std::string_view suffix(end, static_cast<std::size_t>(text.data() + text.size() - end));
    const auto factor =
        units.empty() ? (suffix.empty() ? std::optional<std::uint64_t>(1) : std::nullopt) : named(units, suffix);
    if (!factor || value > UINT64_MAX / *factor) return std::nullopt;
    return value * *factor;
}

/// The unit to print a value with; bits are preferred to bytes.
const Name* largest_unit(std::span<const Name> units, std::uint64_t value) {
    const Name* largest = nullptr;
    for (const Name& unit : units) {
        const bool counts_bytes = unit.text.find("ps") != std::string_view::npos;
        if (counts_bytes || value % unit.value != 0) continue;
        if (largest == nullptr || unit.value > largest->value) largest = &unit;
    }
    return largest;
}

std::optional<unsigned> key_of(const Table& table, std::string_view text) {
    auto key = table.dscp_keys ? named(kDscpNames, text) : std::nullopt;
    if (!key) key = number(text, {});
    if (!key || *key >= table.keys) return std::nullopt;
    return static_cast<unsigned>(*key);
}

std::optional<std::uint64_t> value_of(const Table& table, std::string_view text) {
    auto value = !table.names.empty() ? named(table.names, text)
                 : table.dscp_values  ? named(kDscpNames, text)
                                      : std::nullopt;
    if (!value && table.names.empty()) value = number(text, table.units);
    if (!value || *value > table.value_max) return std::nullopt;
    return value;
}

std::string in_quotes(std::string_view text) {
    return "'" + std::string(text) + "'";
}

class WordParser {
public:
    WordParser(DcbRequest& request, std::span<const std::string> words) : request_(request), words_(words) {}

    Status parse() {
        while (at_ < words_.size()) {
            const std::string& word = words_[at_++];
            const Table* table = find_table(request_.object, word);
            if (table == nullptr) {
                return Error{"unknown word " + in_quotes(word) + "; allowed: " + tables_of(request_.object)};
            }
            if (request_.tables.count(word) != 0) return Error{in_quotes(word) + " is given twice"};
            if (Status status = entries(*table, request_.tables[word]); !status) return status;
        }
        if (request_.tables.empty() && request_.verb != DcbVerb::kFlush)
            return Error{"nothing is said to be changed; allowed: " + tables_of(request_.object)};
        return Done{};
    }

private:
    [[nodiscard]] bool at_entry() const {
        return at_ < words_.size() && find_table(request_.object, words_[at_]) == nullptr;
    }

    Status entries(const Table& table, std::map<unsigned, std::uint64_t>& out) {
        if (request_.verb == DcbVerb::kFlush) {
            if (!at_entry()) return Done{};
            return Error{"flush: " + in_quotes(words_[at_]) +
                         " is not expected; allowed: " + tables_of(request_.object)};
        }
        if (!at_entry()) return Error{in_quotes(table.name) + " needs a value: " + std::string(table.allowed)};
        for (; at_entry(); ++at_) {
            Status status =
                table.form == Form::kArray ? array_entry(table, words_[at_], out) : list_entry(table, words_[at_], out);
            if (!status) return status;
        }
        return Done{};
    }

    static Status array_entry(const Table& table, std::string_view word, std::map<unsigned, std::uint64_t>& out) {
        const std::size_t colon = word.find(':');
        if (colon == std::string_view::npos) {
            return Error{std::string(table.name) + " " + in_quotes(word) + " is not KEY:VALUE, such as " +
                         dcb_entry(table.name, 3, table.value_max)};
        }
        const std::string_view key = word.substr(0, colon);
        const auto value = value_of(table, word.substr(colon + 1));
        if (!value) {
            return Error{std::string(table.name) + " " + in_quotes(word) + ": " + in_quotes(word.substr(colon + 1)) +
                         " is not allowed; allowed: " + std::string(table.allowed)};
        }
        if (key == "all") {
            for (unsigned k = 0; k < table.keys; ++k) out[k] = *value;
            return Done{};
        }
        const auto one = key_of(table, key);
        if (!one) {
            return Error{std::string(table.name) + " " + in_quotes(word) + ": key " + in_quotes(key) +
                         " is not allowed; allowed: all, 0 to " + std::to_string(table.keys - 1) +
                         (table.dscp_keys ? ", or a name such as AF31" : "")};
        }
        out[*one] = *value;
        return Done{};
    }

    static Status list_entry(const Table& table, std::string_view word, std::map<unsigned, std::uint64_t>& out) {
        const auto value = value_of(table, word);
        const bool twice =
            value && std::any_of(out.begin(), out.end(), [&](const auto& e) { return e.second == *value; });
        if (!value || twice || out.size() == table.keys) {
            return Error{std::string(table.name) + " " + in_quotes(word) +
                         " is not allowed; allowed: " + std::string(table.allowed)};
        }
        out[static_cast<unsigned>(out.size())] = *value;
        return Done{};
    }

    DcbRequest& request_;
    std::span<const std::string> words_;
    std::size_t at_ = 0;
};

Result<DcbRequest> begin_request(std::string_view object, std::string_view verb) {
    if (tables_of(object).empty()) return Error{"unknown object " + in_quotes(object) + "; allowed: " + dcb_objects()};
    const auto known = verb_of(object, verb);
    if (!known) {
        return Error{std::string(object) + ": unknown verb " + in_quotes(verb) + "; allowed: " + verbs_of(object)};
    }
    return DcbRequest{std::string(object), *known, {}};
}

Status table_from_json(const Table& table, const json& entries, std::map<unsigned, std::uint64_t>& out) {
    if (!entries.is_object()) return Error{"\"" + std::string(table.name) + "\" is not an object of entries"};
    for (const auto& [key, value] : entries.items()) {
        const auto number_of_key = number(key, {});
        if (!number_of_key || *number_of_key >= table.keys)
            return Error{"\"" + std::string(table.name) + "\": key " + json(key).dump(-1, ' ', true) +
                         " is not allowed; allowed: 0 to " + std::to_string(table.keys - 1)};
        if (!value.is_number_unsigned() || value.get<std::uint64_t>() > table.value_max)
            return Error{"\"" + std::string(table.name) + "\": value " + value.dump(-1, ' ', true) +
                         " is not allowed; allowed: " + std::string(table.allowed)};
        const auto plain = value.get<std::uint64_t>();
        if (!table.names.empty() &&
            std::none_of(table.names.begin(), table.names.end(), [&](const Name& n) { return n.value == plain; }))
            return Error{"\"" + std::string(table.name) + "\": value " + value.dump() +
                         " is not allowed; allowed: " + std::string(table.allowed)};
        out[static_cast<unsigned>(*number_of_key)] = plain;
    }
    return Done{};
}

}  // namespace

Result<DcbRequest> parse_dcb_words(std::string_view object, std::string_view verb, std::span<const std::string> words) {
    Result<DcbRequest> request = begin_request(object, verb);
    if (!request) return request;
    if (Status status = WordParser(*request, words).parse(); !status) return Error{status.error()};
    return request;
}

Result<DcbRequest> dcb_from_json(const json& args) {
    const auto text = [&args](const char* key) -> std::string {
        const auto found = args.is_object() ? args.find(key) : args.end();
        return args.is_object() && found != args.end() && found->is_string() ? found->get<std::string>() : "";
    };
    Result<DcbRequest> request = begin_request(text("object"), text("verb"));
    if (!request) return request;
    for (const auto& [key, value] : args.items()) {
        if (key == "dev" || key == "object" || key == "verb") continue;
        const Table* table = find_table(request->object, key);
        if (table == nullptr)
            return Error{"unknown argument " + json(key).dump(-1, ' ', true) +
                         "; allowed: " + tables_of(request->object)};
        if (Status status = table_from_json(*table, value, request->tables[key]); !status) return Error{status.error()};
    }
    return request;
}

json dcb_to_json(const DcbRequest& request) {
    json out{{"object", request.object}, {"verb", verb_name(request.verb)}};
    for (const auto& [name, entries] : request.tables) {
        json& table = out[name] = json::object();
        for (const auto& [key, value] : entries) table[std::to_string(key)] = value;
    }
    return out;
}

std::string dcb_entry(std::string_view table_name, unsigned key, std::uint64_t value) {
    const auto table =
        std::find_if(kTables.begin(), kTables.end(), [&](const Table& t) { return t.name == table_name; });
    if (table == kTables.end()) return std::to_string(key) + ":" + std::to_string(value);
    std::string text = std::to_string(value);
    for (const Name& name : table->names) {
        if (name.value == value) text = name.text;
    }
    if (const Name* unit = value == 0 ? nullptr : largest_unit(table->units, value))
        text = std::to_string(value / unit->value) + std::string(unit->text);
    return table->form == Form::kList ? text : std::to_string(key) + ":" + text;
}

std::string dcb_objects() {
    std::string list;
    std::string_view last;
    for (const Table& table : kTables) {
        if (table.object != last) list += (list.empty() ? "" : ", ") + std::string(table.object);
        last = table.object;
    }
    return list;
}

}  // namespace vroce

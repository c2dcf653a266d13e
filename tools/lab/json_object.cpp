#include "tools/lab/json_object.hpp"

#include <arpa/inet.h>
#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>

namespace vroce::tools {

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

template <typename Words>
std::string listed(const Words& words) {
    std::string line;
    for (const std::string_view word : words) line += (line.empty() ? "" : ", ") + std::string(word);
    return line;
}

}  // namespace

JsonObject::JsonObject(const json& value, std::string where) : value_(value), where_(std::move(where)) {
    if (!value.is_object()) {
        throw Wrong{fmt::format("{}an object {{…}} is expected", where_.empty() ? "" : where_ + ": ")};
    }
}

void JsonObject::allow_only(std::initializer_list<std::string_view> keys) const {
    for (const auto& [key, unused] : value_.items()) {
        if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
        throw Wrong{
            fmt::format("{}unknown key '{}'; allowed: {}", where_.empty() ? "" : where_ + ": ", key, listed(keys))};
    }
}

const json& JsonObject::at(const char* key) const {
    if (!has(key)) throw Wrong{fmt::format("{}'{}' is missing", where_.empty() ? "" : where_ + ": ", key)};
    return value_[key];
}

std::string JsonObject::text(const char* key) const {
    const json& v = at(key);
    if (v.is_string()) return v.get<std::string>();
    if (v.is_number_integer()) return v.dump();
    throw Wrong{fmt::format("{}: a string is expected, not {}", path(key), v.dump())};
}

int JsonObject::number_or(const char* key, int otherwise, int min, int max) const {
    if (!has(key)) return otherwise;
    const json& v = at(key);
    if (v.is_number_integer() && v.get<std::int64_t>() >= min && v.get<std::int64_t>() <= max) return v.get<int>();
    throw Wrong{fmt::format("{}: {} is not allowed; {} to {} is", path(key), v.dump(), min, max)};
}

std::string JsonObject::one_of(const char* key, std::initializer_list<std::string_view> words) const {
    if (!has(key)) return {};
    const std::string word = text(key);
    if (std::find(words.begin(), words.end(), word) != words.end()) return word;
    throw Wrong{fmt::format("{}: '{}' is not allowed; {} are", path(key), word, listed(words))};
}

json read_json(const std::string& path) {
    std::ifstream in(path);
    if (!in || fs::is_directory(path)) throw Wrong{"cannot be read: no such file, or no permission"};
    try {
        return json::parse(in, nullptr, true, true);  // comments allowed
    } catch (const json::parse_error& error) {
        std::string what = error.what();  // "[json.exception.parse_error.101] parse error at line 3, column 5: …"
        if (const auto at = what.find("line "); at != std::string::npos) what = what.substr(at);
        throw Wrong{"not valid JSON: " + what};
    }
}

void check_name(const std::string& where, const std::string& name) {
    const bool ok = !name.empty() && name.size() <= 32 && std::isalnum(static_cast<unsigned char>(name[0])) != 0 &&
                    std::all_of(name.begin(), name.end(),
                                [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_'; });
    if (!ok)
        throw Wrong{
            fmt::format("{}: '{}' is not a name; up to 32 letters, digits, '-' and '_', a letter or digit first, are",
                        where, name)};
}

void check_interface_name(const std::string& where, const std::string& name) {
    check_name(where, name);
    // What the kernel has room for.
    if (name.size() > 15) throw Wrong{fmt::format("{}: '{}' is longer than 15 letters", where, name)};
}

void check_address(const std::string& where, const std::string& text) {
    const auto slash = text.find('/');
    const std::string host = text.substr(0, slash);
    unsigned char bytes[16];
    const int bits = ::inet_pton(AF_INET, host.c_str(), bytes) == 1    ? 32
                     : ::inet_pton(AF_INET6, host.c_str(), bytes) == 1 ? 128
                                                                       : 0;
    const std::string length = slash == std::string::npos ? "" : text.substr(slash + 1);
    const bool digits = !length.empty() && length.size() <= 3 &&
                        std::all_of(length.begin(), length.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (bits == 0 || !digits || std::stoi(length) > bits) {
        throw Wrong{fmt::format("{}: '{}' is not an address with its prefix length, as 10.0.0.1/24 is", where, text)};
    }
}

void check_mac(const std::string& where, const std::string& mac) {
    bool ok = mac.size() == 17;
    for (std::size_t i = 0; ok && i < mac.size(); ++i) {
        ok = i % 3 == 2 ? mac[i] == ':' : std::isxdigit(static_cast<unsigned char>(mac[i])) != 0;
    }
    if (!ok) throw Wrong{fmt::format("{}: '{}' is not a MAC address, as 02:00:00:00:00:01 is", where, mac)};
}

}  // namespace vroce::tools

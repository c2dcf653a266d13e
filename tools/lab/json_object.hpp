// JSON objects that complain: every refusal says where in the file, what stands there and what is allowed.
#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace vroce::tools {

/// Thrown while a file is read; who reads it turns it into an Error with the file's name before it.
struct Wrong {
    std::string message;
};

/// One object of the file with the path that leads to it.
class JsonObject {
public:
    JsonObject(const nlohmann::json& value, std::string where);

    void allow_only(std::initializer_list<std::string_view> keys) const;
    bool has(const char* key) const { return value_.contains(key); }
    const nlohmann::json& at(const char* key) const;
    std::string path(const std::string& key) const { return where_.empty() ? key : where_ + "." + key; }

    /// A string, or a whole number written without quotes.
    std::string text(const char* key) const;
    std::string text_or(const char* key, const std::string& otherwise) const {
        return has(key) ? text(key) : otherwise;
    }
    int number_or(const char* key, int otherwise, int min, int max) const;
    /// Empty when the key is not there.
    std::string one_of(const char* key, std::initializer_list<std::string_view> words) const;

private:
    const nlohmann::json& value_;
    std::string where_;
};

/// Comments are allowed.
nlohmann::json read_json(const std::string& path);

// Each throws Wrong with `where` before it.
void check_name(const std::string& where, const std::string& name);  // folders, namespaces, command words
void check_interface_name(const std::string& where, const std::string& name);
void check_address(const std::string& where, const std::string& text);  // with its prefix length
void check_mac(const std::string& where, const std::string& mac);

}  // namespace vroce::tools

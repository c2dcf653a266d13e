// A CONFIG_DB-shaped JSON file as tables of entries of text fields, with repeated names refused. Knows no table's
// meaning.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"

namespace vroce::sw {

struct ConfigField {
    std::string name;
    std::string text;     ///< strings without quotes, everything else as JSON writes it
    bool scalar = false;  ///< a string, number or boolean: what a field that we know must be
};

struct ConfigEntry {
    std::string key;  ///< "Ethernet0", "Vlan10|Ethernet0"
    std::vector<ConfigField> fields;
};

struct ConfigTable {
    std::string name;
    std::vector<ConfigEntry> entries;  ///< in the file's order
};

struct ConfigDocument {
    std::string file;
    std::vector<ConfigTable> tables;

    const ConfigTable* find(std::string_view name) const {
        for (const ConfigTable& table : tables) {
            if (table.name == name) return &table;
        }
        return nullptr;
    }
};

inline constexpr std::size_t kMaxConfigBytes = std::size_t{16} << 20;

/// `file` is only used in messages.
Result<ConfigDocument> parse_document(std::string_view text, const std::string& file);
Result<ConfigDocument> read_document(const std::string& file);

}  // namespace vroce::sw

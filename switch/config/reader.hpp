// What the readers of all tables share: the document, the ports that are known by now, the words of a refusal, and the
// warnings so far.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"
#include "switch/config/document.hpp"
#include "switch/config/field.hpp"
#include "switch/core/switch_config.hpp"

namespace vroce::sw {

/// "Ethernet0,Ethernet4|3-4": these of each of those.
struct PortsAndRange {
    std::vector<PortId> ports;
    unsigned first = 0;
    unsigned last = 0;
};

class TableReader {
public:
    /// `core` is filled while tables are read; its ports come first.
    TableReader(const ConfigDocument& document, const SwitchConfig& core) : document_(document), core_(core) {}

    [[nodiscard]] const std::string& file() const { return document_.file; }
    /// nullptr: the document has no such table. Marks it as known.
    [[nodiscard]] const ConfigTable* find(const std::string& table);
    /// Calls `read(entry)` for each entry of the table, in the file's order, until one is refused.
    template <typename Read>
    Status each(const std::string& table, Read read) {
        const ConfigTable* found = find(table);
        if (found == nullptr) return Done{};
        for (const ConfigEntry& entry : found->entries)
            if (Status status = read(entry); !status) return status;
        return Done{};
    }
    /// Reads the entry's fields by the table of setters; others are collected for one warning each.
    Status fields(const std::string& table, const ConfigEntry& entry,
                  const std::map<std::string, FieldSetter>& setters);

    [[nodiscard]] Error refuse(const std::string& table, const std::string& key, const std::string& why) const;
    [[nodiscard]] std::optional<PortId> port_by_name(std::string_view name) const;
    /// "Ethernet0" or "Ethernet0,Ethernet4".
    [[nodiscard]] Result<std::vector<PortId>> ports_of(const std::string& table, const std::string& key) const;
    /// "Ethernet0|3", "Ethernet0,Ethernet4|3-4"; the numbers are 0..7.
    [[nodiscard]] Result<PortsAndRange> ports_and_range(const std::string& table, const std::string& key) const;

    /// A field that we know and that has no effect here.
    [[nodiscard]] FieldSetter without_effect();
    void warn(std::string line) { warnings_.push_back(document_.file + ": " + std::move(line)); }
    /// All warnings, at last those about tables and fields that nobody has asked for.
    [[nodiscard]] std::vector<std::string> finish();

private:
    [[nodiscard]] Result<std::vector<PortId>> port_list(const std::string& table, const std::string& key,
                                                        std::string_view names) const;

    const ConfigDocument& document_;
    const SwitchConfig& core_;
    std::vector<std::string> known_tables_;
    std::vector<std::string> warnings_;
    std::map<std::string, std::size_t> unknown_fields_;
    std::map<std::string, std::size_t> idle_fields_;  ///< known ones without effect
};

/// Entries of a table that others refer to.
template <typename Entry>
using Named = std::map<std::string, Entry>;

/// "name", or "[TABLE|name]" as older files have it, without the brackets and the table; empty: another table's.
[[nodiscard]] std::string referenced_name(const std::string& text, const std::string& table);

/// Points the target at the entry that the field names.
template <typename Entry>
FieldSetter reference(const Entry*& target, const std::string& table, const Named<Entry>& entries) {
    return [&target, table, &entries](const FieldPlace& place) -> Status {
        const auto entry = entries.find(referenced_name(place.field.text, table));
        if (!place.field.scalar || entry == entries.end()) return place.refuse("an entry of table " + table);
        target = &entry->second;
        return Done{};
    };
}

}  // namespace vroce::sw

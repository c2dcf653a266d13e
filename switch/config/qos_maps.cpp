// One line for each table.
#include "switch/config/qos_maps.hpp"

namespace vroce::sw {
namespace {

enum class Unnamed : std::uint8_t { kZero, kItself, kRefused };

struct MapTable {
    const char* name;
    const char* from;  ///< what the fields' names are
    std::uint64_t to_max;
    Unnamed unnamed;
};

template <std::size_t N>
Status read_pair(const TableReader& reader, const MapTable& table, const ConfigEntry& entry, const ConfigField& field,
                 std::array<std::uint8_t, N>& map) {
    std::uint64_t from = 0;
    if (!parse_number(field.name, from) || from >= N || field.name != std::to_string(from)) {
        return reader.refuse(table.name, entry.key,
                             fmt::format("\"{}\" is no {}; allowed: 0..{}", field.name, table.from, N - 1));
    }
    std::uint64_t to = 0;
    const std::string name = table.name;
    if (Status status = number(to, 0, table.to_max, "")({reader.file(), name, entry.key, field}); !status)
        return status;
    map[from] = static_cast<std::uint8_t>(to);
    return Done{};
}

template <std::size_t N>
Status read_map_table(TableReader& reader, const MapTable& table, Named<std::array<std::uint8_t, N>>& maps) {
    return reader.each(table.name, [&](const ConfigEntry& entry) -> Status {
        std::array<std::uint8_t, N> map{};
        if (table.unnamed == Unnamed::kItself) map = identity_map<N>();
        for (const ConfigField& field : entry.fields)
            if (Status status = read_pair(reader, table, entry, field, map); !status) return status;
        if (table.unnamed == Unnamed::kRefused && entry.fields.size() != N) {
            return reader.refuse(table.name, entry.key,
                                 fmt::format("{} of {} entries; allowed: all of 0..{}", entry.fields.size(), N, N - 1));
        }
        maps[entry.key] = map;
        return Done{};
    });
}

}  // namespace

Result<QosMaps> read_qos_maps(TableReader& reader) {
    QosMaps maps;
    Status status = Done{};
    const auto read = [&reader, &status](const MapTable& table, auto& named) {
        if (status) status = read_map_table(reader, table, named);
    };
    read({"DSCP_TO_TC_MAP", "DSCP", 7, Unnamed::kZero}, maps.dscp_to_tc);
    read({"DOT1P_TO_TC_MAP", "PCP", 7, Unnamed::kZero}, maps.dot1p_to_tc);
    read({"TC_TO_QUEUE_MAP", "traffic class", 7, Unnamed::kZero}, maps.tc_to_queue);
    read({"TC_TO_PRIORITY_GROUP_MAP", "traffic class", 7, Unnamed::kZero}, maps.tc_to_priority);
    read({"MAP_PFC_PRIORITY_TO_QUEUE", "priority", 7, Unnamed::kItself}, maps.pfc_to_queue);
    read({"PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", "priority", 7, Unnamed::kItself}, maps.pfc_to_pg);
    read({"TC_TO_DSCP_MAP", "traffic class", 63, Unnamed::kRefused}, maps.tc_to_dscp);
    read({"TC_TO_DOT1P_MAP", "traffic class", 7, Unnamed::kRefused}, maps.tc_to_dot1p);
    if (!status) return Error{status.error()};
    return maps;
}

}  // namespace vroce::sw

// PORT_QOS_MAP and QUEUE, on top of a preset.
#include "switch/config/qos_tables.hpp"

#include <bitset>

#include "switch/config/qos_checks.hpp"
#include "switch/config/qos_maps.hpp"
#include "switch/config/qos_profiles.hpp"
#include "switch/config/roce_preset.hpp"

namespace vroce::sw {
namespace {

/// "3,4": the pattern ([0-7](,[0-7])*)? of SONiC's model.
FieldSetter priority_list(std::optional<std::uint8_t>& target) {
    return [&target](const FieldPlace& place) -> Status {
        const std::string& text = place.field.text;
        unsigned mask = 0;
        bool good = place.field.scalar && (text.empty() || text.size() % 2 == 1);
        for (std::size_t i = 0; good && i < text.size(); ++i) {
            good = i % 2 == 1 ? text[i] == ',' : text[i] >= '0' && text[i] <= '7';
            if (i % 2 == 0 && good) mask |= 1U << (text[i] - '0');
        }
        if (!good) return place.refuse("priorities 0..7 with commas between, or nothing");
        target = static_cast<std::uint8_t>(mask);
        return Done{};
    };
}

/// Which mark decides, and for what else a port has maps.
struct TrustState {
    bool told = false;
    bool dscp_map = false;
    bool pcp_map = false;

    [[nodiscard]] Trust by_maps() const {
        if (dscp_map) return pcp_map ? Trust::kDscpThenPcp : Trust::kDscp;
        return pcp_map ? Trust::kPcp : Trust::kPort;
    }
};

/// Fields of one entry of PORT_QOS_MAP; what is empty is not told.
struct PortQosFields {
    const DscpMap* dscp_to_tc = nullptr;
    const PcpMap* dot1p_to_tc = nullptr;
    const TcMap* tc_to_queue = nullptr;
    const TcMap* tc_to_priority = nullptr;
    const PriorityMap* pfc_to_queue = nullptr;
    const PriorityMap* pfc_to_pg = nullptr;
    const TcMap* tc_to_dscp = nullptr;
    const TcMap* tc_to_dot1p = nullptr;
    const SchedulerConfig* scheduler = nullptr;
    std::optional<std::uint8_t> pfc_enable;
    std::optional<std::uint8_t> watchdog;
    std::optional<Trust> trust;
    std::optional<std::uint64_t> default_tc;

    void apply(PortQosConfig& qos, TrustState& state) const {
        apply_ingress(qos.ingress, state);
        apply_egress(qos);
        if (pfc_to_queue != nullptr) qos.flow_control.priority_to_queue = *pfc_to_queue;
        if (pfc_enable) qos.flow_control.pfc_enable = *pfc_enable;
        if (watchdog) qos.flow_control.watchdog = *watchdog;
    }

private:
    void apply_ingress(ClassMaps& maps, TrustState& state) const {
        if (dscp_to_tc != nullptr) {
            maps.dscp_to_tc = *dscp_to_tc;
            state.dscp_map = true;
        }
        if (dot1p_to_tc != nullptr) {
            maps.pcp_to_tc = *dot1p_to_tc;
            state.pcp_map = true;
        }
        if (tc_to_queue != nullptr) maps.tc_to_queue = *tc_to_queue;
        if (tc_to_priority != nullptr) maps.tc_to_priority = *tc_to_priority;
        if (default_tc) maps.default_tc = static_cast<std::uint8_t>(*default_tc);
        if (trust) {
            maps.trust = *trust;
            state.told = true;
        }
        if (!state.told) maps.trust = state.by_maps();
    }
    void apply_egress(PortQosConfig& qos) const {
        if (tc_to_dscp != nullptr) {
            qos.remark.dscp = true;
            qos.remark.tc_to_dscp = *tc_to_dscp;
        }
        if (tc_to_dot1p != nullptr) {
            qos.remark.pcp = true;
            qos.remark.tc_to_pcp = *tc_to_dot1p;
        }
        if (scheduler != nullptr) qos.max_rate_bps = scheduler->max_rate_bps;
    }
};

class QosLoader {
public:
    QosLoader(TableReader& reader, SwitchConfig& core) : reader_(reader), core_(core), trust_(core.ports.size()) {}

    Status load(QosPreset preset, std::span<const PortDevice> devices) {
        start_from(preset, devices);
        Result<QosMaps> maps = read_qos_maps(reader_);
        if (!maps) return Error{maps.error()};
        maps_ = std::move(*maps);
        if (Status status = read_schedulers(reader_, schedulers_); !status) return status;
        if (Status status = read_wred_profiles(reader_, wred_profiles_); !status) return status;
        for (const auto step : {&QosLoader::switch_map, &QosLoader::port_maps, &QosLoader::queues}) {
            if (Status status = (this->*step)(); !status) return status;
        }
        finish();
        return check_qos(reader_, devices, core_);
    }

private:
    void start_from(QosPreset preset, std::span<const PortDevice> devices) {
        for (std::size_t p = 0; p < core_.ports.size(); ++p) {
            PortQosConfig& qos = core_.ports[p].qos;
            if (preset == QosPreset::kRoce) {
                const FlowControlConfig told = qos.flow_control;  // by table PORT
                qos = roce_preset(!told.link_pause && !ignores_pause(devices[p]));
                qos.flow_control.link_pause = told.link_pause;
                qos.flow_control.pfc_asymmetric = told.pfc_asymmetric;
                trust_[p].told = true;
            } else {
                // For a port that is told to trust a mark and has no map for it.
                qos.ingress.pcp_to_tc = identity_map<kPcps>();
                qos.ingress.dscp_to_tc = class_selectors();
            }
        }
    }

    /// The entry "global" is every port's, unless the port says otherwise, wherever it stands in the file.
    Status switch_map() {
        return reader_.each("PORT_QOS_MAP", [this](const ConfigEntry& entry) -> Status {
            if (entry.key != "global") return Done{};
            const Result<PortQosFields> fields = port_fields(entry);
            if (!fields) return Error{fields.error()};
            for (std::size_t p = 0; p < core_.ports.size(); ++p) fields->apply(core_.ports[p].qos, trust_[p]);
            return Done{};
        });
    }

    Status port_maps() {
        std::bitset<kMaxPorts> seen;
        return reader_.each("PORT_QOS_MAP", [&](const ConfigEntry& entry) -> Status {
            if (entry.key == "global") return Done{};
            const Result<std::vector<PortId>> ports = reader_.ports_of("PORT_QOS_MAP", entry.key);
            if (!ports) return Error{ports.error()};
            const Result<PortQosFields> fields = port_fields(entry);
            if (!fields) return Error{fields.error()};
            for (const PortId port : *ports) {
                if (seen[port]) return told_twice("PORT_QOS_MAP", entry.key, core_.ports[port].name);
                seen.set(port);
                fields->apply(core_.ports[port].qos, trust_[port]);
            }
            return Done{};
        });
    }

    Result<PortQosFields> port_fields(const ConfigEntry& entry) {
        PortQosFields f;
        Status status = reader_.fields(
            "PORT_QOS_MAP", entry,
            {{"dscp_to_tc_map", reference(f.dscp_to_tc, "DSCP_TO_TC_MAP", maps_.dscp_to_tc)},
             {"dot1p_to_tc_map", reference(f.dot1p_to_tc, "DOT1P_TO_TC_MAP", maps_.dot1p_to_tc)},
             {"tc_to_queue_map", reference(f.tc_to_queue, "TC_TO_QUEUE_MAP", maps_.tc_to_queue)},
             {"tc_to_pg_map", reference(f.tc_to_priority, "TC_TO_PRIORITY_GROUP_MAP", maps_.tc_to_priority)},
             {"pfc_to_queue_map", reference(f.pfc_to_queue, "MAP_PFC_PRIORITY_TO_QUEUE", maps_.pfc_to_queue)},
             {"pfc_to_pg_map", reference(f.pfc_to_pg, "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", maps_.pfc_to_pg)},
             {"tc_to_dscp_map", reference(f.tc_to_dscp, "TC_TO_DSCP_MAP", maps_.tc_to_dscp)},
             {"tc_to_dot1p_map", reference(f.tc_to_dot1p, "TC_TO_DOT1P_MAP", maps_.tc_to_dot1p)},
             {"scheduler", reference(f.scheduler, "SCHEDULER", schedulers_)},
             {"pfc_enable", priority_list(f.pfc_enable)},
             {"pfcwd_sw_enable", priority_list(f.watchdog)},
             {"default_tc", default_tc(f.default_tc)},
             {"trust", choice(f.trust, {{"port", Trust::kPort},
                                        {"pcp", Trust::kPcp},
                                        {"dscp", Trust::kDscp},
                                        {"dscp,pcp", Trust::kDscpThenPcp},
                                        {"pcp,dscp", Trust::kPcpThenDscp}})}});
        if (!status) return Error{status.error()};
        if (f.pfc_to_pg != nullptr && *f.pfc_to_pg != identity_map<kPriorities>()) {
            return reader_.refuse("PORT_QOS_MAP", entry.key,
                                  "pfc_to_pg_map gives a priority another one's group; allowed: each its own number");
        }
        return f;
    }

    static FieldSetter default_tc(std::optional<std::uint64_t>& target) {
        return [&target](const FieldPlace& place) -> Status {
            std::uint64_t tc = 0;
            Status status = number(tc, 0, kTrafficClasses - 1, "")(place);
            if (status) target = tc;
            return status;
        };
    }

    Status queues() {
        std::array<std::bitset<kQueues>, kMaxPorts> seen;
        return reader_.each("QUEUE", [&](const ConfigEntry& entry) -> Status {
            const Result<PortsAndRange> where = reader_.ports_and_range("QUEUE", entry.key);
            if (!where) return Error{where.error()};
            const SchedulerConfig* scheduler = nullptr;
            const WredConfig* wred = nullptr;
            Status status = reader_.fields("QUEUE", entry,
                                           {{"scheduler", reference(scheduler, "SCHEDULER", schedulers_)},
                                            {"wred_profile", reference(wred, "WRED_PROFILE", wred_profiles_)}});
            if (!status) return status;
            for (const PortId port : where->ports) {
                for (unsigned q = where->first; q <= where->last; ++q) {
                    if (seen[port][q]) {
                        return told_twice("QUEUE", entry.key, fmt::format("{}|{}", core_.ports[port].name, q));
                    }
                    seen[port].set(q);
                    QueueConfig& queue = core_.ports[port].qos.queues[q];
                    if (scheduler != nullptr) queue.scheduler = *scheduler;
                    if (wred != nullptr) queue.wred = *wred;
                }
            }
            return Done{};
        });
    }

    Error told_twice(const std::string& table, const std::string& key, const std::string& what) const {
        return reader_.refuse(table, key, fmt::format("{} is in another entry already; allowed: one entry", what));
    }

    void finish() {
        core_.pfc_in_use = false;
        for (PortConfig& port : core_.ports) {
            const FlowControlConfig& flow = port.qos.flow_control;
            core_.pfc_in_use |= flow.pfc_enable != 0;
            // Files give lossless queues the same profile with wred_green_enable; there it means marks alone.
            for (unsigned p = 0; p < kPriorities; ++p)
                if (flow.lossless(p)) port.qos.queues[flow.priority_to_queue[p]].wred.wred = false;
        }
    }

    TableReader& reader_;
    SwitchConfig& core_;
    std::vector<TrustState> trust_;
    QosMaps maps_;
    Named<SchedulerConfig> schedulers_;
    Named<WredConfig> wred_profiles_;
};

/// A cell is a power of two, so that rounding up is a mask.
FieldSetter cell_bytes(std::uint32_t& target) {
    return [&target](const FieldPlace& place) -> Status {
        std::uint64_t bytes = 0;
        const bool good = place.field.scalar && parse_number(place.field.text, bytes) && bytes >= 1 &&
                          bytes <= 16'384 && (bytes & (bytes - 1)) == 0;
        if (!good) return place.refuse("a power of two, 1..16384 (bytes)");
        target = static_cast<std::uint32_t>(bytes);
        return Done{};
    };
}

}  // namespace

Result<QosPreset> read_qos_settings(TableReader& reader, BufferConfig& buffers) {
    QosPreset preset = QosPreset::kNone;
    Status status = reader.each("VROCE_QOS", [&](const ConfigEntry& entry) -> Status {
        if (entry.key != "switch") return reader.refuse("VROCE_QOS", entry.key, "unknown entry; allowed: switch");
        return reader.fields("VROCE_QOS", entry,
                             {{"preset", choice(preset, {{"none", QosPreset::kNone}, {"roce", QosPreset::kRoce}})},
                              {"cell_bytes", cell_bytes(buffers.cell_bytes)},
                              {"headroom", choice(buffers.headroom_exact, {{"exact", true}, {"raise", false}})}});
    });
    if (!status) return Error{status.error()};
    return preset;
}

Status load_qos(TableReader& reader, QosPreset preset, std::span<const PortDevice> devices, SwitchConfig& core) {
    return QosLoader(reader, core).load(preset, devices);
}

}  // namespace vroce::sw

// Flow control against maps, port by port.
#include "switch/config/qos_checks.hpp"

namespace vroce::sw {
namespace {

constexpr const char* kTable = "PORT_QOS_MAP";

class PortCheck {
public:
    PortCheck(TableReader& reader, const PortConfig& port)
        : reader_(reader), port_(port), maps_(port.qos.ingress), flow_(port.qos.flow_control) {}

    Status pause_is_of_one_kind() const {
        if (!flow_.link_pause || flow_.pfc_enable == 0) return Done{};
        return refuse("pfc_enable contradicts link_pause \"on\" of table PORT; allowed: one of the two on a port");
    }

    /// Pause of a priority must hold the queue that the priority's frames leave by, and no other's.
    Status pause_holds_the_right_queue() const {
        for (unsigned p = 0; p < kPriorities; ++p) {
            if (!flow_.lossless(p)) continue;
            for (unsigned other = 0; other < p; ++other) {
                if (!flow_.lossless(other) || flow_.priority_to_queue[other] != flow_.priority_to_queue[p]) continue;
                return refuse(
                    fmt::format("pfc_to_queue_map has queue {} for priorities {} and {}, so that pause of one "
                                "stops both; allowed: a queue for each priority of pfc_enable",
                                flow_.priority_to_queue[p], other, p));
            }
            for (unsigned tc = 0; tc < kTrafficClasses; ++tc) {
                if (maps_.tc_to_priority[tc] != p || maps_.tc_to_queue[tc] == flow_.priority_to_queue[p]) continue;
                return refuse(
                    fmt::format("traffic class {} is in lossless priority {} and leaves by queue {}, but "
                                "pause of that priority stops queue {}; allowed: the same queue in "
                                "tc_to_queue_map and pfc_to_queue_map",
                                tc, p, maps_.tc_to_queue[tc], flow_.priority_to_queue[p]));
            }
        }
        return Done{};
    }

    void warn_about_lossy_in_lossless_queue() const {
        for (unsigned tc = 0; tc < kTrafficClasses; ++tc) {
            if (flow_.lossless(maps_.tc_to_priority[tc])) continue;
            for (unsigned p = 0; p < kPriorities; ++p) {
                if (!flow_.lossless(p) || flow_.priority_to_queue[p] != maps_.tc_to_queue[tc]) continue;
                warn(fmt::format("traffic class {} is lossy and leaves by queue {}, which pause of priority {} stops",
                                 tc, maps_.tc_to_queue[tc], p));
            }
        }
    }
    void warn_about_lossless_default() const {
        const unsigned priority = maps_.tc_to_priority[maps_.default_tc];
        if (!flow_.lossless(priority)) return;
        warn(
            fmt::format("frames without a mark are in lossless priority {}, where nothing is flooded: broadcast, ARP "
                        "too, ends here",
                        priority));
    }
    void warn_about_kernel_peer(const PortDevice& device) const {
        if (flow_.pfc_enable == 0 || !ignores_pause(device)) return;
        warn(fmt::format("pfc_enable has no effect on what {} brings: a kernel interface does not obey pause",
                         device.devargs.substr(0, device.devargs.find(','))));
    }

private:
    [[nodiscard]] Error refuse(const std::string& why) const { return reader_.refuse(kTable, port_.name, why); }
    void warn(const std::string& why) const { reader_.warn(fmt::format("{}|{}: {}", kTable, port_.name, why)); }

    TableReader& reader_;
    const PortConfig& port_;
    const ClassMaps& maps_;
    const FlowControlConfig& flow_;
};

}  // namespace

Status check_qos(TableReader& reader, std::span<const PortDevice> devices, const SwitchConfig& core) {
    for (std::size_t p = 0; p < core.ports.size(); ++p) {
        const PortCheck check(reader, core.ports[p]);
        if (Status status = check.pause_is_of_one_kind(); !status) return status;
        if (Status status = check.pause_holds_the_right_queue(); !status) return status;
        check.warn_about_lossy_in_lossless_queue();
        check.warn_about_lossless_default();
        check.warn_about_kernel_peer(devices[p]);
    }
    return Done{};
}

}  // namespace vroce::sw

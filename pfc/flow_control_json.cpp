#include "pfc/flow_control_json.hpp"

#include <nlohmann/json.hpp>

namespace vroce {
namespace {

using nlohmann::json;

std::int64_t ns(Duration time) {
    return time.ps / 1'000;
}

json pause_json(const PauseHeard& heard, Duration heard_time, const PauseSaid& said, Duration said_time) {
    return {{"rx_pause", heard.pause_frames}, {"rx_resume", heard.resume_frames},  {"rx_paused_ns", ns(heard_time)},
            {"tx_xoff", said.xoff_frames},    {"tx_refresh", said.refresh_frames}, {"tx_xon", said.xon_frames},
            {"tx_paused_ns", ns(said_time)}};
}

}  // namespace

json flow_control_json(const FlowControl& flow, std::uint64_t without_packet, Instant now) {
    const PauseReceiver& receiver = flow.receiver();
    const PauseSender& sender = flow.sender();
    json priorities = json::object();
    for (unsigned p = 0; p < kPriorities; ++p) {
        json& priority = priorities[std::to_string(p)] =
            pause_json(receiver.heard(p), receiver.paused_time(now, p), sender.said(p), sender.asked_time(now, p));
        priority["rx_storm_ns"] = ns(receiver.storm_time(now, p));
    }
    json ignored = json::object();
    receiver.ignored().for_each(
        [&ignored](std::string_view name, std::uint64_t count) { ignored[std::string(name)] = count; });
    return {{"priority", std::move(priorities)},
            {"link", pause_json(receiver.link_heard(), receiver.link_paused_time(now), sender.link_said(),
                                sender.link_asked_time(now))},
            {"without_packet", without_packet},
            {"ignored", std::move(ignored)},
            {"other_destination", flow.other_destination()},
            {"malformed", flow.malformed()}};
}

}  // namespace vroce

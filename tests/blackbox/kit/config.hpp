// The configuration of the black-box tests, as an operator would write it: the preset `roce`, and buffers whose
// thresholds a test can compute.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace vroce::blackbox {

struct SwitchConfig {
    std::size_t ports = 3;
    std::string speed_mbps = "10000";
    std::uint32_t cell_bytes = 1;
    std::uint64_t pool_bytes = 4'000'000;  ///< ingress
    // Priority group 3, lossless.
    std::uint64_t reserved_bytes = 2'000;
    std::uint64_t threshold_bytes = 40'000;  ///< of the shared room
    std::uint64_t xoff_bytes = 30'000;       ///< headroom
    std::uint64_t xon_offset_bytes = 8'000;
    // Priority groups 0 to 2 and 4 to 7, lossy.
    std::uint64_t lossy_threshold_bytes = 4'000'000;
    // Queues 0 to 2 and 4 to 7.
    std::uint64_t lossy_queue_bytes = 100'000;
};

inline std::string text(std::uint64_t value) {
    return std::to_string(value);
}

inline nlohmann::json to_json(const SwitchConfig& config) {
    using nlohmann::json;
    json sw;
    sw["VROCE_QOS"]["switch"] = {{"preset", "roce"}, {"cell_bytes", text(config.cell_bytes)}, {"headroom", "exact"}};
    sw["BUFFER_POOL"]["ingress_pool"] = {{"type", "ingress"}, {"mode", "dynamic"}, {"size", text(config.pool_bytes)}};
    sw["BUFFER_POOL"]["egress_pool"] = {{"type", "egress"}, {"mode", "static"}, {"size", "100000000"}};
    sw["BUFFER_PROFILE"] = {
        {"lossless",
         {{"pool", "ingress_pool"},
          {"size", text(config.reserved_bytes)},
          {"static_th", text(config.threshold_bytes)},
          {"xoff", text(config.xoff_bytes)},
          {"xon", "0"},
          {"xon_offset", text(config.xon_offset_bytes)}}},
        {"lossy", {{"pool", "ingress_pool"}, {"size", "0"}, {"static_th", text(config.lossy_threshold_bytes)}}},
        {"egress_lossless", {{"pool", "egress_pool"}, {"size", "0"}, {"static_th", "100000000"}}},
        {"egress_lossy", {{"pool", "egress_pool"}, {"size", "0"}, {"static_th", text(config.lossy_queue_bytes)}}}};
    for (std::size_t i = 0; i < config.ports; ++i) {
        const std::string port = "Ethernet" + std::to_string(4 * i);
        sw["PORT"][port] = {{"speed", config.speed_mbps}, {"mtu", "9100"}, {"admin_status", "up"}};
        sw["VROCE_PORT"][port] = {{"devargs", "memif"}, {"role", "host"}};
        sw["BUFFER_PG"][port + "|3"] = {{"profile", "lossless"}};
        sw["BUFFER_QUEUE"][port + "|3"] = {{"profile", "egress_lossless"}};
        for (const char* others : {"0-2", "4-7"}) {
            sw["BUFFER_PG"][port + "|" + others] = {{"profile", "lossy"}};
            sw["BUFFER_QUEUE"][port + "|" + others] = {{"profile", "egress_lossy"}};
        }
    }
    return sw;
}

}  // namespace vroce::blackbox

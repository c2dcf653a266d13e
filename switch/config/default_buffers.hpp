// Buffers for a switch whose file does not speak of them: a lossless and a lossy pool on each side, sized for its
// ports.
#pragma once

#include <cstdint>
#include <span>

#include "switch/config/loader.hpp"
#include "switch/core/switch_config.hpp"

namespace vroce::sw {

/// Bit p: priority group p asks the peer to pause, by PFC or with the whole link.
[[nodiscard]] std::uint8_t pausing_groups(const PortQosConfig& qos);

/// Room for every lossless group's headroom and a share for every port.
[[nodiscard]] std::uint64_t default_pool_bytes(const SwitchConfig& core, std::span<const PortDevice> devices);

/// Pools, profiles, and both for every priority group and queue of every port.
void add_default_buffers(SwitchConfig& core, std::span<const PortDevice> devices);

/// The default's lossless profile for a priority group, in this ingress pool; headroom is the buffer manager's to say.
[[nodiscard]] BufferProfileConfig lossless_profile(const BufferConfig& buffers, std::uint16_t pool);

}  // namespace vroce::sw

// Which ports belong to which VLAN, and how a frame's VLAN is found at ingress (802.1Q 6.9, 8.6.2).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "switch/core/limits.hpp"

namespace vroce::sw {

inline constexpr std::uint16_t kReservedVlan = 4095;

/// Part of the configuration's snapshot: filled once, then read only. 64 KiB.
class VlanTable {
public:
    VlanTable() : vlans_(kVlanCount) {}

    /// Makes the port a member. An untagged membership is also the port's native VLAN, of which it has at most one;
    /// precondition: vlan is 1..4094, port < kMaxPorts.
    void add_member(std::uint16_t vlan, PortId port, bool tagged);

    PortSet members(std::uint16_t vlan) const { return vlans_[vlan].members; }
    bool is_member(std::uint16_t vlan, PortId port) const { return contains(vlans_[vlan].members, port); }
    bool leaves_tagged(std::uint16_t vlan, PortId port) const { return contains(vlans_[vlan].tagged, port); }
    /// VLAN of untagged and priority-tagged frames, or 0 when the port takes only tagged ones.
    std::uint16_t native(PortId port) const { return native_[port]; }

private:
    struct Vlan {
        PortSet members = 0;
        PortSet tagged = 0;  // subset of members
    };
    std::vector<Vlan> vlans_;
    std::array<std::uint16_t, kMaxPorts> native_{};
};

}  // namespace vroce::sw

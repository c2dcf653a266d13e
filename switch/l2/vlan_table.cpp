// VLAN memberships.
#include "switch/l2/vlan_table.hpp"

namespace vroce::sw {

void VlanTable::add_member(std::uint16_t vlan, PortId port, bool tagged) {
    vlans_[vlan].members |= port_bit(port);
    if (tagged) {
        vlans_[vlan].tagged |= port_bit(port);
    } else {
        native_[port] = vlan;
    }
}

}  // namespace vroce::sw

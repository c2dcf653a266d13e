// A queue pair's attributes as verbs names them, and as the transport wants them.
#pragma once

#include <cstdint>

#include "nic/transport/types.hpp"
#include "provider/abi/vroce_abi.h"

namespace vroce::nic {

/// What the next hop of a QP's destination is; the resolver's answer.
struct ResolvedPath {
    MacAddress source_mac;
    MacAddress destination_mac;
    Gid source;  ///< the GID at the attribute's sgid_index
    std::uint16_t vlan = 0;
};

/// 0 when every attribute that the mask names has a value that the device supports, else EINVAL.
[[nodiscard]] int check_qp_parameters(std::uint32_t mask, const vroce_qp_attr& attr, std::uint32_t path_mtu_max_bytes);

/// Takes over into `present` what the mask names.
void merge_qp_attributes(vroce_qp_attr& present, std::uint32_t mask, const vroce_qp_attr& attr);

[[nodiscard]] QpAttributes transport_attributes(const vroce_qp_attr& attr, const ResolvedPath& path, std::uint32_t qpn);

/// The UDP source port of a connection (annex A17; the rule is the Linux kernel's): from the flow
/// label, or when that is 0 from one that both ends compute alike; 0xC000..0xFFFF.
[[nodiscard]] std::uint16_t udp_source_port(std::uint32_t flow_label, std::uint32_t local_qpn,
                                            std::uint32_t remote_qpn);

}  // namespace vroce::nic

// Device, port and protection domain: what the NIC says, in libibverbs' words.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>

#include "provider/src/context.hpp"
#include "provider/src/verbs.hpp"

namespace vroce::provider {
namespace {

/// IBV_QPF_GRH_REQUIRED: RoCE addresses have a GRH always.
constexpr std::uint8_t kGrhRequired = 1;

ibv_device_attr to_verbs(const vroce_device_attr& d) {
    ibv_device_attr a{};
    std::memcpy(a.fw_ver, d.fw_ver, std::min(sizeof a.fw_ver, sizeof d.fw_ver) - 1);
    a.node_guid = d.node_guid;
    a.sys_image_guid = d.sys_image_guid;
    a.max_mr_size = d.max_mr_bytes;
    a.page_size_cap = d.page_size_cap;
    a.vendor_id = d.vendor_id;
    a.vendor_part_id = d.vendor_part_id;
    a.hw_ver = d.hw_ver;
    a.max_qp = static_cast<int>(d.max_qp);
    a.max_qp_wr = static_cast<int>(d.max_qp_wr);
    a.device_cap_flags = d.device_cap_flags;
    a.max_sge = static_cast<int>(d.max_sge);
    a.max_sge_rd = static_cast<int>(d.max_sge_rd);
    a.max_cq = static_cast<int>(d.max_cq);
    a.max_cqe = static_cast<int>(d.max_cqe);
    a.max_mr = static_cast<int>(d.max_mr);
    a.max_pd = static_cast<int>(d.max_pd);
    a.max_qp_rd_atom = static_cast<int>(d.max_qp_rd_atom);
    a.max_res_rd_atom = static_cast<int>(d.max_res_rd_atom);
    a.max_qp_init_rd_atom = static_cast<int>(d.max_qp_init_rd_atom);
    a.atomic_cap = IBV_ATOMIC_NONE;
    a.max_pkeys = d.max_pkeys;
    a.local_ca_ack_delay = d.local_ca_ack_delay;
    a.phys_port_cnt = d.phys_port_cnt;
    return a;
}

ibv_port_attr to_verbs(const vroce_port_attr& p) {
    ibv_port_attr a{};
    a.state = static_cast<ibv_port_state>(p.state);
    a.max_mtu = static_cast<ibv_mtu>(p.max_mtu);
    a.active_mtu = static_cast<ibv_mtu>(p.active_mtu);
    a.gid_tbl_len = static_cast<int>(p.gid_tbl_len);
    a.port_cap_flags = p.port_cap_flags;
    a.max_msg_sz = p.max_msg_bytes;
    a.bad_pkey_cntr = p.bad_pkey_cntr;
    a.pkey_tbl_len = p.pkey_tbl_len;
    a.max_vl_num = 1;
    a.active_width = p.active_width;
    a.active_speed = p.active_speed;
    a.phys_state = p.phys_state;
    a.link_layer = IBV_LINK_LAYER_ETHERNET;
    a.flags = kGrhRequired;
    return a;
}

}  // namespace

int query_device_ex(ibv_context* base, const ibv_query_device_ex_input* input, ibv_device_attr_ex* attr,
                    std::size_t attr_bytes) {
    if (attr_bytes < sizeof attr->orig_attr || (input != nullptr && input->comp_mask != 0)) return EINVAL;
    // An application of another libibverbs may have a shorter or a longer structure.
    ibv_device_attr_ex full{};
    full.orig_attr = to_verbs(context_of(base).device);
    full.phys_port_cnt_ex = full.orig_attr.phys_port_cnt;
    full.device_cap_flags_ex = full.orig_attr.device_cap_flags;
    std::memset(attr, 0, attr_bytes);
    std::memcpy(attr, &full, std::min(attr_bytes, sizeof full));
    return 0;
}

int query_port(ibv_context* base, std::uint8_t port, ibv_port_attr* attr) {
    Context& context = context_of(base);
    if (port == 0 || port > context.device.phys_port_cnt) return EINVAL;
    if (const int error = context.control_error()) return error;
    vroce_simple_request request{};
    vroce_port_attr reply{};
    if (const int error = context.session.call(VROCE_QUERY_PORT, request, reply)) return error;
    *attr = to_verbs(reply);
    return 0;
}

ibv_pd* alloc_pd(ibv_context* base) {
    Context& context = context_of(base);
    auto pd = std::unique_ptr<ProtectionDomain>(new (std::nothrow) ProtectionDomain);
    if (pd == nullptr) return nullptr;
    vroce_simple_request request{};
    vroce_simple_reply reply{};
    int error = context.control_error();
    if (error == 0) error = context.session.call(VROCE_ALLOC_PD, request, reply);
    if (error != 0) {
        errno = error;
        return nullptr;
    }
    pd->handle = pd->verbs.handle = reply.handle;
    pd->verbs.context = base;
    return &pd.release()->verbs;
}

int dealloc_pd(ibv_pd* base) {
    ProtectionDomain& pd = protection_domain(base);
    Context& context = context_of(base->context);
    vroce_simple_request request{};
    request.handle = pd.handle;
    vroce_simple_reply reply{};
    if (context.control_error() == 0) {
        const int error = context.session.call(VROCE_DEALLOC_PD, request, reply);
        if (error != 0 && !context.session.dead()) return error;
    }
    delete &pd;
    return 0;
}

}  // namespace vroce::provider

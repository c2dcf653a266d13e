// The private interface between libibverbs and its providers, as far as this plugin uses it: private ABI 34, which is
// rdma-core 36 to 56 with the operation table below (35 and earlier have another table). Debian packages no header for
// it; this is the only file that declares it. Sizes and offsets are asserted, because nothing else would notice.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

extern "C" {

struct verbs_sysfs_dev;
struct verbs_xrcd;

struct verbs_device_ops {
    const char* name;
    std::uint32_t match_min_abi_version;
    std::uint32_t match_max_abi_version;
    const void* match_table;
    const void* static_providers;
    bool (*match_device)(verbs_sysfs_dev* device);
    struct verbs_context* (*alloc_context)(ibv_device* device, int cmd_fd, void* private_data);
    struct verbs_context* (*import_context)(ibv_device* device, int cmd_fd);
    struct verbs_device* (*alloc_device)(verbs_sysfs_dev* device);
    void (*uninit_device)(struct verbs_device* device);
};

/// What libibverbs read from sysfs; only the fields that are used have their names.
struct verbs_sysfs_dev {
    char unused_a[112];
    char ibdev_name[IBV_SYSFS_NAME_MAX];
    char ibdev_path[IBV_SYSFS_PATH_MAX];
    char unused_b[560];
};

struct verbs_device {
    ibv_device device;
    const verbs_device_ops* ops;
    std::uint64_t refcount;
    void* entry[2];
    verbs_sysfs_dev* sysfs;
    std::uint64_t core_support;
};

struct verbs_qp {
    union {
        ibv_qp qp;
        ibv_qp_ex qp_ex;
    };
    std::uint32_t comp_mask;  ///< kVerbsQpEx: ibv_qp_to_qp_ex may be used
    verbs_xrcd* xrcd;
};
constexpr std::uint32_t kVerbsQpEx = 2;

struct verbs_mr {
    ibv_mr ibv;
    std::uint32_t mr_type;  ///< kMrTypeMr: made by ibv_reg_mr
    std::int32_t access;
};
constexpr std::uint32_t kMrTypeMr = 0;

/// 76 pointers in alphabetical order. Null leaves the library's default, which answers EOPNOTSUPP. Operations that we
/// do not fill have no type here, only their place.
struct verbs_context_ops {
    void* advise_mr;
    void* alloc_dm;
    void* alloc_mw;
    void* alloc_null_mr;
    void* alloc_parent_domain;
    ibv_pd* (*alloc_pd)(ibv_context* context);
    void* alloc_td;
    void (*async_event)(ibv_context* context, ibv_async_event* event);
    void* attach_counters_point_flow;
    void* attach_mcast;
    void* bind_mw;
    void* close_xrcd;
    void* cq_event;
    void* create_ah;
    void* create_counters;
    ibv_cq* (*create_cq)(ibv_context* context, int cqe, ibv_comp_channel* channel, int comp_vector);
    void* create_cq_ex;
    void* create_flow;
    void* create_flow_action_esp;
    ibv_qp* (*create_qp)(ibv_pd* pd, ibv_qp_init_attr* attr);
    ibv_qp* (*create_qp_ex)(ibv_context* context, ibv_qp_init_attr_ex* attr);
    void* create_rwq_ind_table;
    void* create_srq;
    void* create_srq_ex;
    void* create_wq;
    void* dealloc_mw;
    int (*dealloc_pd)(ibv_pd* pd);
    void* dealloc_td;
    int (*dereg_mr)(verbs_mr* mr);
    void* destroy_ah;
    void* destroy_counters;
    int (*destroy_cq)(ibv_cq* cq);
    void* destroy_flow;
    void* destroy_flow_action;
    int (*destroy_qp)(ibv_qp* qp);
    void* destroy_rwq_ind_table;
    void* destroy_srq;
    void* destroy_wq;
    void* detach_mcast;
    void (*free_context)(ibv_context* context);
    void* free_dm;
    void* get_srq_num;
    void* import_dm;
    void* import_mr;
    void* import_pd;
    void* modify_cq;
    void* modify_flow_action_esp;
    int (*modify_qp)(ibv_qp* qp, ibv_qp_attr* attr, int attr_mask);
    void* modify_qp_rate_limit;
    void* modify_srq;
    void* modify_wq;
    void* open_qp;
    void* open_xrcd;
    int (*poll_cq)(ibv_cq* cq, int num_entries, ibv_wc* wc);
    int (*post_recv)(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad_wr);
    int (*post_send)(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad_wr);
    void* post_srq_ops;
    void* post_srq_recv;
    int (*query_device_ex)(ibv_context* context, const ibv_query_device_ex_input* input, ibv_device_attr_ex* attr,
                           std::size_t attr_bytes);
    void* query_ece;
    int (*query_port)(ibv_context* context, std::uint8_t port, ibv_port_attr* attr);
    int (*query_qp)(ibv_qp* qp, ibv_qp_attr* attr, int attr_mask, ibv_qp_init_attr* init_attr);
    void* query_qp_data_in_order;
    void* query_rt_values;
    void* query_srq;
    void* read_counters;
    void* reg_dm_mr;
    void* reg_dmabuf_mr;
    ibv_mr* (*reg_mr)(ibv_pd* pd, void* addr, std::size_t length, std::uint64_t iova, int access);
    int (*req_notify_cq)(ibv_cq* cq, int solicited_only);
    void* rereg_mr;
    void* resize_cq;
    void* set_ece;
    void* unimport_dm;
    void* unimport_mr;
    void* unimport_pd;
};

// Bound to IBVERBS_PRIVATE_34 by the link against libibverbs.so.1.
void verbs_register_driver_34(const verbs_device_ops* ops);
void* _verbs_init_and_alloc_context(ibv_device* device, int cmd_fd, std::size_t bytes, verbs_context* offset,
                                    std::uint32_t driver_id);
void verbs_uninit_context(verbs_context* context);
void verbs_set_ops(verbs_context* context, const verbs_context_ops* ops);
}

/// enum rdma_driver_id RDMA_DRIVER_UNKNOWN of the kernel's ib_user_ioctl_verbs.h.
constexpr std::uint32_t kDriverIdUnknown = 0;

static_assert(sizeof(verbs_device_ops) == 72);
static_assert(offsetof(verbs_device_ops, match_device) == 32);
static_assert(offsetof(verbs_device_ops, alloc_device) == 56);
static_assert(sizeof(verbs_sysfs_dev) == 992);
static_assert(offsetof(verbs_sysfs_dev, ibdev_name) == 112);
static_assert(offsetof(verbs_sysfs_dev, ibdev_path) == 176);
static_assert(sizeof(verbs_device) == 712);
static_assert(offsetof(verbs_device, ops) == 664);
static_assert(offsetof(verbs_device, sysfs) == 696);
static_assert(offsetof(verbs_device, core_support) == 704);
static_assert(sizeof(verbs_context) == 648);
static_assert(sizeof(verbs_qp) == 368);
static_assert(offsetof(verbs_qp, comp_mask) == 352);
static_assert(offsetof(verbs_qp, xrcd) == 360);
static_assert(sizeof(verbs_mr) == 56);
static_assert(offsetof(verbs_mr, mr_type) == 48);
static_assert(sizeof(verbs_context_ops) == 608);
static_assert(offsetof(verbs_context_ops, create_qp_ex) == 20 * sizeof(void*));
static_assert(offsetof(verbs_context_ops, free_context) == 39 * sizeof(void*));
static_assert(offsetof(verbs_context_ops, poll_cq) == 53 * sizeof(void*));
static_assert(offsetof(verbs_context_ops, query_device_ex) == 58 * sizeof(void*));
static_assert(offsetof(verbs_context_ops, reg_mr) == 68 * sizeof(void*));

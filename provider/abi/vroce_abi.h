/* The contract between an application's plugin (libvroce-rdmav34.so) and the NIC process. A leaf: it includes nothing
 * of ours and nothing of libibverbs. Everything crosses a trust boundary: the NIC copies each record once and checks
 * the copy; the plugin trusts the NIC.
 *
 * Two channels:
 *  - control: one SOCK_SEQPACKET connection per ibv_context to the endpoint's session socket. The plugin sends one
 *    request record, the NIC answers it with one reply record, in order. Descriptors travel by SCM_RIGHTS as each
 *    message says. `status` in a reply is 0 or a positive errno.
 *  - data: rings in memfd arenas that the NIC created and sealed (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL).
 *
 * All integers are host byte order; both sides run on one machine. Ring indices are free-running u32; a slot is
 * index & (slots - 1); slots is a power of two.
 */
#ifndef VROCE_ABI_H
#define VROCE_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define VROCE_STATIC_ASSERT(x) static_assert(x, #x)
extern "C" {
#else
#define VROCE_STATIC_ASSERT(x) _Static_assert(x, #x)
#endif

#define VROCE_ABI_MAGIC 0x76526f43u /* "vRoC" */
#define VROCE_ABI_MAJOR 1u          /* differs: refused, both versions named */
#define VROCE_ABI_MINOR 0u          /* grows when fields are added to reserved space */

enum {
    VROCE_MAX_SGE = 32,
    VROCE_MAX_INLINE = 512,
    VROCE_MAX_QP_SLOTS = 16384, /* QPs per context; a slot names a QP in the doorbell bitmap and in CQEs */
    VROCE_MAX_FDS = 5,
    VROCE_CONTROL_BYTES_MAX = 1024
};

/* ---- control messages ------------------------------------------------------------------------------------------ */

enum vroce_message {
    VROCE_HELLO = 1, /* fds in: /proc/self/mem. fds out: status page, doorbell page, doorbell eventfd, async pipe
                      * (read end, write end; the write end is O_NONBLOCK and lets the plugin put events back
                      * and tell of the NIC's death) */
    VROCE_QUERY_DEVICE = 2,
    VROCE_QUERY_PORT = 3,
    VROCE_ALLOC_PD = 4,
    VROCE_DEALLOC_PD = 5,
    VROCE_REG_MR = 6, /* fds in: none, or the memfd/file behind a shared mapping */
    VROCE_DEREG_MR = 7,
    VROCE_CREATE_CHANNEL = 8, /* fds out: read end, write end of the completion channel's pipe */
    VROCE_CREATE_CQ = 9,      /* fds out: none, or a new arena */
    VROCE_DESTROY_CQ = 10,
    VROCE_CREATE_QP = 11, /* fds out: none, or a new arena */
    VROCE_MODIFY_QP = 12,
    VROCE_QUERY_QP = 13,
    VROCE_DESTROY_QP = 14,
    VROCE_DESTROY_CHANNEL = 15 /* the application closed the channel's read end; no CQ uses it any more */
};

struct vroce_request_header {
    uint32_t message; /* enum vroce_message */
    uint32_t bytes;   /* of the whole record */
};
struct vroce_reply_header {
    uint32_t message; /* as asked */
    uint32_t bytes;
    int32_t status; /* 0, or a positive errno */
    uint32_t reserved;
};

struct vroce_hello {
    struct vroce_request_header header;
    uint32_t magic;
    uint16_t major;
    uint16_t minor;
    uint32_t pid; /* for display only; the NIC takes the peer's pid from the socket */
    uint32_t reserved;
};
struct vroce_hello_reply {
    struct vroce_reply_header header;
    uint32_t magic;
    uint16_t major; /* on a mismatch status is EPROTO and these are the NIC's */
    uint16_t minor;
    uint32_t workers;
    uint32_t worker; /* the one that serves this context */
    uint64_t status_page_bytes;
    uint64_t doorbell_page_bytes;
};

struct vroce_simple_request { /* QUERY_DEVICE, QUERY_PORT, ALLOC_PD, CREATE_CHANNEL: handle unused; *_PD, *_MR, *_CQ,
                               * *_QP,
                               * *_CHANNEL: the object */
    struct vroce_request_header header;
    uint32_t handle;
    uint32_t reserved;
};
struct vroce_simple_reply { /* ALLOC_PD: handle of the new object; DESTROY_CQ, DESTROY_QP: events counts below */
    struct vroce_reply_header header;
    uint32_t handle;
    uint32_t comp_events;  /* completion events ever written for the CQ; no more will come after this reply */
    uint32_t async_events; /* async events ever written for the object; no more will come after this reply */
    uint32_t reserved;
};

struct vroce_device_attr {
    struct vroce_reply_header header;
    uint64_t node_guid;      /* network byte order, as verbs has it */
    uint64_t sys_image_guid; /* network byte order */
    uint64_t max_mr_bytes;
    uint64_t page_size_cap;
    uint32_t vendor_id;
    uint32_t vendor_part_id;
    uint32_t hw_ver;
    uint32_t device_cap_flags;
    uint32_t max_qp;
    uint32_t max_qp_wr;
    uint32_t max_sge;
    uint32_t max_sge_rd;
    uint32_t max_cq;
    uint32_t max_cqe;
    uint32_t max_mr;
    uint32_t max_pd;
    uint32_t max_qp_rd_atom;
    uint32_t max_res_rd_atom;
    uint32_t max_qp_init_rd_atom;
    uint32_t max_inline;
    uint16_t max_pkeys;
    uint8_t local_ca_ack_delay;
    uint8_t phys_port_cnt;
    uint32_t num_comp_vectors;
    char fw_ver[64];
};

struct vroce_port_attr {
    struct vroce_reply_header header;
    uint32_t state;      /* enum ibv_port_state */
    uint32_t max_mtu;    /* enum ibv_mtu */
    uint32_t active_mtu; /* enum ibv_mtu */
    uint32_t gid_tbl_len;
    uint32_t port_cap_flags;
    uint32_t max_msg_bytes;
    uint32_t bad_pkey_cntr;
    uint16_t pkey_tbl_len;
    uint8_t active_width;
    uint8_t active_speed;
    uint8_t phys_state;
    uint8_t reserved[7];
};

struct vroce_reg_mr {
    struct vroce_request_header header;
    uint32_t pd;
    uint32_t access; /* enum ibv_access_flags */
    uint64_t addr;   /* in the application's address space */
    uint64_t length;
    uint64_t iova;      /* what remote and local work requests use as address */
    uint64_t fd_offset; /* with a descriptor: offset in it of `addr` */
};
struct vroce_reg_mr_reply {
    struct vroce_reply_header header;
    uint32_t handle;
    uint32_t lkey;
    uint32_t rkey;
    uint32_t mapped; /* 1 when the NIC uses the descriptor given (direct mapping) */
};

/* Where a ring stands. When a descriptor comes with the reply, it is arena `arena`, `arena_bytes` long. */
struct vroce_ring_place {
    uint32_t arena;
    uint32_t slots;  /* power of two */
    uint32_t stride; /* bytes */
    uint32_t reserved;
    uint64_t offset; /* of slot 0 in the arena */
    uint64_t arena_bytes;
};

struct vroce_create_channel_reply {
    struct vroce_reply_header header;
    uint32_t handle;
    uint32_t reserved;
};

struct vroce_create_cq {
    struct vroce_request_header header;
    uint32_t cqe;         /* at least */
    uint32_t channel;     /* handle, or UINT32_MAX */
    uint64_t user_handle; /* written into completion events, and into async events about this CQ */
    uint32_t comp_vector;
    uint32_t reserved;
};
struct vroce_create_cq_reply {
    struct vroce_reply_header header;
    uint32_t handle;
    uint32_t reserved;
    uint64_t control_offset; /* struct vroce_cq_control, same arena */
    struct vroce_ring_place ring;
};

struct vroce_create_qp {
    struct vroce_request_header header;
    uint32_t pd;
    uint32_t send_cq;
    uint32_t recv_cq;
    uint32_t qp_type; /* enum ibv_qp_type; RC for now */
    uint32_t max_send_wr;
    uint32_t max_recv_wr;
    uint32_t max_send_sge;
    uint32_t max_recv_sge;
    uint32_t max_inline;
    uint32_t sq_sig_all;
    uint64_t user_handle; /* written into async events about this QP */
};
struct vroce_create_qp_reply {
    struct vroce_reply_header header;
    uint32_t handle;
    uint32_t qpn;
    uint32_t slot;        /* 0..VROCE_MAX_QP_SLOTS-1: doorbell bit, and qp_slot of CQEs */
    uint32_t max_send_wr; /* what holds now, >= what was asked */
    uint32_t max_recv_wr;
    uint32_t max_send_sge;
    uint32_t max_recv_sge;
    uint32_t max_inline;
    uint64_t control_offset; /* struct vroce_qp_control, same arena */
    struct vroce_ring_place sq;
    struct vroce_ring_place rq;
};

/* Field for field what struct ibv_qp_attr says, in fixed widths; attr_mask is enum ibv_qp_attr_mask.
 * To RESET: the NIC drops what was posted, restarts both queues at ring index 0 and does not read the producers while
 * the QP is in RESET; after the reply the plugin stores 0 to both producers and takes the QP's entries out of its CQs.
 */
struct vroce_qp_attr {
    uint32_t qp_state;
    uint32_t cur_qp_state;
    uint32_t path_mtu;
    uint32_t path_mig_state;
    uint32_t qkey;
    uint32_t rq_psn;
    uint32_t sq_psn;
    uint32_t dest_qp_num;
    uint32_t qp_access_flags;
    uint32_t rate_limit;
    uint16_t pkey_index;
    uint8_t en_sqd_async_notify;
    uint8_t sq_draining;
    uint8_t max_rd_atomic;
    uint8_t max_dest_rd_atomic;
    uint8_t min_rnr_timer;
    uint8_t port_num;
    uint8_t timeout;
    uint8_t retry_cnt;
    uint8_t rnr_retry;
    uint8_t ah_is_global;
    uint8_t ah_sl;
    uint8_t ah_port_num;
    uint8_t ah_static_rate;
    uint8_t grh_sgid_index;
    uint8_t grh_hop_limit;
    uint8_t grh_traffic_class;
    uint16_t reserved;
    uint32_t grh_flow_label;
    uint8_t grh_dgid[16];
};
struct vroce_modify_qp {
    struct vroce_request_header header;
    uint32_t handle;
    uint32_t attr_mask;
    struct vroce_qp_attr attr;
};
struct vroce_query_qp_reply { /* also of MODIFY_QP: attr as it is afterwards */
    struct vroce_reply_header header;
    struct vroce_qp_attr attr;
};

/* ---- shared memory --------------------------------------------------------------------------------------------- */

/* One page per NIC process, read-only to applications (F_SEAL_FUTURE_WRITE). */
struct vroce_status_page {
    uint32_t magic;
    uint16_t major;
    uint16_t minor;
    uint32_t workers;
    uint32_t reserved[13];
    struct {
        uint32_t sleeping; /* 1: ring the worker's eventfd after the bitmap; NIC: seq_cst store, then re-scan */
        uint32_t reserved[15];
    } worker[16];
};

/* One per context, written by the application: which QPs have new work. Posting thread: publish the producer index
 * (release), set the leaf bit, set the summary bit (both seq_cst fetch_or), then read `sleeping`; when it is 1, write
 * 1 to the eventfd. */
struct vroce_doorbell_page {
    uint64_t summary[VROCE_MAX_QP_SLOTS / 64 / 64]; /* bit w: leaf[w] is not 0 */
    uint64_t leaf[VROCE_MAX_QP_SLOTS / 64];         /* bit s: QP slot s has new sends; also rung for receives posted to
                                                     * an empty queue or to a QP seen in error, so that they are flushed */
};

struct vroce_sge {
    uint64_t addr;
    uint32_t length;
    uint32_t lkey;
};

enum vroce_opcode { /* numerically enum ibv_wr_opcode */
                    VROCE_WR_RDMA_WRITE = 0,
                    VROCE_WR_RDMA_WRITE_WITH_IMM = 1,
                    VROCE_WR_SEND = 2,
                    VROCE_WR_SEND_WITH_IMM = 3,
                    VROCE_WR_RDMA_READ = 4
};
enum vroce_send_flags { /* numerically enum ibv_send_flags */
                        VROCE_SEND_FENCE = 1,
                        VROCE_SEND_SIGNALED = 2,
                        VROCE_SEND_SOLICITED = 4,
                        VROCE_SEND_INLINE = 8
};

/* Followed by sge_count SGEs, or by inline_bytes of data when VROCE_SEND_INLINE is set. */
struct vroce_send_wqe {
    uint64_t wr_id;
    uint64_t remote_addr;
    uint64_t compare_add;
    uint64_t swap;
    uint32_t rkey;
    uint32_t imm; /* as in ibv_send_wr: passed unchanged (network byte order) */
    uint32_t inline_bytes;
    uint32_t remote_qpn; /* UD */
    uint32_t remote_qkey;
    uint8_t opcode; /* enum vroce_opcode */
    uint8_t flags;  /* enum vroce_send_flags */
    uint16_t sge_count;
    uint64_t reserved;
};

/* Followed by sge_count SGEs. */
struct vroce_recv_wqe {
    uint64_t wr_id;
    uint32_t sge_count;
    uint32_t reserved;
};

/* Written by the application. */
struct vroce_qp_control {
    uint32_t sq_producer; /* release store after the WQE */
    uint32_t reserved0[15];
    uint32_t rq_producer; /* release store after the WQE */
    uint32_t reserved1[15];
};

enum vroce_wc_flags { VROCE_WC_WITH_IMM = 1, VROCE_WC_SOLICITED = 2, VROCE_WC_GRH = 4, VROCE_WC_RECV = 8 };

/* Written by the NIC; valid for ring index i when `phase` == (i / slots + 1) & UINT32_MAX, read with acquire. */
struct vroce_cqe {
    uint64_t wr_id;
    uint64_t timestamp_ns; /* of the NIC process's own clock: only differences mean anything */
    uint32_t qpn;
    uint32_t qp_slot;
    uint32_t wqe_index; /* ring index of the WQE; it and all before it in its queue are free */
    uint32_t byte_len;
    uint32_t imm;
    uint32_t src_qpn;
    uint32_t vendor_err;
    uint8_t status; /* enum ibv_wc_status */
    uint8_t opcode; /* enum ibv_wc_opcode */
    uint8_t flags;  /* enum vroce_wc_flags */
    uint8_t sl;
    uint32_t reserved[2];
    uint32_t reserved2;
    uint32_t phase;
};

enum vroce_cq_arm { VROCE_ARM_NONE = 0, VROCE_ARM_SOLICITED = 1, VROCE_ARM_NEXT = 2 };

/* consumer and armed are written by the application, armed also (to NONE, by exchange) by the NIC when it sends an
 * event. Both sides: write own word, seq_cst fence, read the other's. */
struct vroce_cq_control {
    uint32_t consumer; /* entries polled; the NIC reads it only to see whether the ring is full */
    uint32_t reserved0[15];
    uint32_t armed; /* enum vroce_cq_arm */
    uint32_t reserved1[15];
};

/* ---- events ---------------------------------------------------------------------------------------------------- */

/* Records of the completion channel's pipe are the CQ's user_handle, 8 bytes, as libibverbs reads them. */
struct vroce_async_event { /* as libibverbs reads them */
    uint64_t element;      /* user_handle of the QP or CQ, or the port number */
    uint32_t event_type;   /* enum ibv_event_type */
    uint32_t reserved;
};

VROCE_STATIC_ASSERT(sizeof(struct vroce_request_header) == 8);
VROCE_STATIC_ASSERT(sizeof(struct vroce_reply_header) == 16);
VROCE_STATIC_ASSERT(sizeof(struct vroce_hello) == 24);
VROCE_STATIC_ASSERT(sizeof(struct vroce_hello_reply) == 48);
VROCE_STATIC_ASSERT(sizeof(struct vroce_simple_request) == 16);
VROCE_STATIC_ASSERT(sizeof(struct vroce_simple_reply) == 32);
VROCE_STATIC_ASSERT(sizeof(struct vroce_device_attr) == 184);
VROCE_STATIC_ASSERT(sizeof(struct vroce_port_attr) == 56);
VROCE_STATIC_ASSERT(sizeof(struct vroce_reg_mr) == 48);
VROCE_STATIC_ASSERT(sizeof(struct vroce_reg_mr_reply) == 32);
VROCE_STATIC_ASSERT(sizeof(struct vroce_ring_place) == 32);
VROCE_STATIC_ASSERT(sizeof(struct vroce_create_channel_reply) == 24);
VROCE_STATIC_ASSERT(sizeof(struct vroce_create_cq) == 32);
VROCE_STATIC_ASSERT(sizeof(struct vroce_create_cq_reply) == 64);
VROCE_STATIC_ASSERT(sizeof(struct vroce_create_qp) == 56);
VROCE_STATIC_ASSERT(sizeof(struct vroce_create_qp_reply) == 120);
VROCE_STATIC_ASSERT(sizeof(struct vroce_qp_attr) == 80);
VROCE_STATIC_ASSERT(offsetof(struct vroce_qp_attr, grh_dgid) == 64);
VROCE_STATIC_ASSERT(sizeof(struct vroce_modify_qp) == 96);
VROCE_STATIC_ASSERT(sizeof(struct vroce_query_qp_reply) == 96);
VROCE_STATIC_ASSERT(sizeof(struct vroce_status_page) == 64 + 16 * 64);
VROCE_STATIC_ASSERT(sizeof(struct vroce_doorbell_page) == 8 * (4 + 256));
VROCE_STATIC_ASSERT(sizeof(struct vroce_sge) == 16);
VROCE_STATIC_ASSERT(sizeof(struct vroce_send_wqe) == 64);
VROCE_STATIC_ASSERT(offsetof(struct vroce_send_wqe, opcode) == 52);
VROCE_STATIC_ASSERT(sizeof(struct vroce_recv_wqe) == 16);
VROCE_STATIC_ASSERT(sizeof(struct vroce_qp_control) == 128);
VROCE_STATIC_ASSERT(offsetof(struct vroce_qp_control, rq_producer) == 64);
VROCE_STATIC_ASSERT(sizeof(struct vroce_cqe) == 64);
VROCE_STATIC_ASSERT(offsetof(struct vroce_cqe, phase) == 60);
VROCE_STATIC_ASSERT(sizeof(struct vroce_cq_control) == 128);
VROCE_STATIC_ASSERT(offsetof(struct vroce_cq_control, armed) == 64);
VROCE_STATIC_ASSERT(sizeof(struct vroce_async_event) == 16);

#ifdef __cplusplus
}
#endif
#endif

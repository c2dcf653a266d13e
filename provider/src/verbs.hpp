// The provider operations, one thin function each. Slow ones are control messages; post and poll are the fast files.
#pragma once

#include "provider/src/private_abi.hpp"

namespace vroce::provider {

// device_verbs.cpp
int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input, ibv_device_attr_ex* attr,
                    std::size_t attr_bytes);
int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attr);
ibv_pd* alloc_pd(ibv_context* context);
int dealloc_pd(ibv_pd* pd);

// memory_verbs.cpp
ibv_mr* reg_mr(ibv_pd* pd, void* addr, std::size_t length, std::uint64_t iova, int access);
int dereg_mr(verbs_mr* mr);

// cq_verbs.cpp
ibv_cq* create_cq(ibv_context* context, int cqe, ibv_comp_channel* channel, int comp_vector);
int destroy_cq(ibv_cq* cq);
int req_notify_cq(ibv_cq* cq, int solicited_only);

// poll.cpp
int poll_cq(ibv_cq* cq, int num_entries, ibv_wc* wc);

// qp_verbs.cpp
ibv_qp* create_qp(ibv_pd* pd, ibv_qp_init_attr* attr);
ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* attr);
int modify_qp(ibv_qp* qp, ibv_qp_attr* attr, int attr_mask);
int query_qp(ibv_qp* qp, ibv_qp_attr* attr, int attr_mask, ibv_qp_init_attr* init_attr);
int destroy_qp(ibv_qp* qp);

// post.cpp
int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad_wr);
int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad_wr);

// events.cpp
void async_event(ibv_context* context, ibv_async_event* event);

}  // namespace vroce::provider

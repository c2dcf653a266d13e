// The ibv_wr_* interface: a chain built call by call between ibv_wr_start and ibv_wr_complete.
#pragma once

#include <cstdint>

#include "provider/src/queues.hpp"

namespace vroce::provider {

/// True when all of these (enum ibv_qp_create_send_ops_flags) can be built.
bool can_build(std::uint64_t send_ops);
/// Fills in the QP's function table; operations that were not asked for stay null, as ibv_wr_post(3) has it.
void offer_builder(QueuePair& qp, std::uint64_t send_ops);

}  // namespace vroce::provider

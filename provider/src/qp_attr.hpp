// Queue pair attributes in libibverbs' structure and in the ABI's.
#pragma once

#include "provider/abi/vroce_abi.h"
#include "provider/src/private_abi.hpp"

namespace vroce::provider {

/// Only the fields that `attr_mask` names are read: the application need not have set the others.
vroce_qp_attr to_abi(const ibv_qp_attr& attr, int attr_mask);
ibv_qp_attr to_verbs(const vroce_qp_attr& attr);

}  // namespace vroce::provider

// A MODIFY_QP that may have to wait for the MAC address of its destination.
#pragma once

#include "nic/host/session.hpp"

namespace vroce::nic {

struct Session::Modify {
    vroce_modify_qp request{};
    ResolvedPath path;
    Gid destination;
};

}  // namespace vroce::nic

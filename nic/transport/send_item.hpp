// A send work request between its fetch from the ring and its completion: a private, validated copy and its progress.
#pragma once

#include <cstdint>

#include "nic/transport/types.hpp"
#include "nic/transport/vendor_error.hpp"
#include "nic/wire/psn.hpp"

namespace vroce::nic {

struct SendItem {
    SendWqe wqe;
    SendItem* next = nullptr;
    Psn first;  ///< PSN of its first packet; a READ owns one PSN for each response packet
    std::uint32_t packets = 0;
    std::uint32_t requested = 0;  ///< READ: responses asked for since the last rewind, as a count from the beginning
    std::uint32_t received = 0;   ///< READ: responses landed; received <= requested <= packets
    WcStatus error =
        WcStatus::Success;  ///< found before it could be sent; it completes with this when it is the oldest
    VendorError reason = VendorError::None;
    bool started = false;  ///< a packet of it was given out once

    [[nodiscard]] bool is_read() const { return wqe.opcode == WrOpcode::Read; }
};

}  // namespace vroce::nic

// A READ request that the responder accepted and has not wholly answered.
#pragma once

#include <cstdint>

#include "nic/wire/psn.hpp"

namespace vroce::nic {

struct ReadJob {
    ReadJob* next = nullptr;
    std::uint64_t va = 0;
    std::uint32_t rkey = 0;
    std::uint32_t length = 0;
    std::uint32_t packets = 0;
    std::uint32_t sent = 0;  ///< responses given out
    std::uint32_t msn = 0;
    Psn psn;              ///< of the first response
    bool replay = false;  ///< a duplicate: executed again, never an error (IBTA C9-107 ff.)

    [[nodiscard]] Psn end() const { return psn + packets; }
    [[nodiscard]] Psn position() const { return psn + sent; }
};

}  // namespace vroce::nic

// What a device promises, and keeps: each number here is reported by ibv_query_device and enforced where objects are
// made.
#pragma once

#include <cstdint>

#include "provider/abi/vroce_abi.h"

namespace vroce::nic {

struct Limits {
    static constexpr std::uint32_t kQps = VROCE_MAX_QP_SLOTS;
    static constexpr std::uint32_t kQpWr = 16'384;
    static constexpr std::uint32_t kSge = VROCE_MAX_SGE;
    static constexpr std::uint32_t kInlineBytes = VROCE_MAX_INLINE;
    static constexpr std::uint32_t kCqs = 65'536;
    static constexpr std::uint32_t kCqes = 1u << 20;
    static constexpr std::uint32_t kMrs = 65'536;
    static constexpr std::uint32_t kPds = 65'536;
    /// librdmacm keeps these in a byte; hardware offers 16.
    static constexpr std::uint32_t kRdAtomic = 16;
    static constexpr std::uint64_t kMrBytes = std::uint64_t{1} << 46;
    static constexpr std::uint64_t kMessageBytes = std::uint64_t{1} << 31;
    static constexpr std::uint32_t kCompVectors = 1;
    /// Of nobody's: not assigned by the IEEE to a maker of RDMA devices, and unknown to perftest, UCX and pyverbs.
    static constexpr std::uint32_t kVendorId = 0x7652'6f;
    static constexpr std::uint32_t kVendorPartId = 1;
};

}  // namespace vroce::nic

// Payload on its way into application memory. Frames of one message that arrive together are landed by one copy: a copy
// costs about as much as the bytes of a frame.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "nic/transport/qp_env.hpp"

namespace vroce::nic {

/// What a handler did with a frame.
enum class Taken : std::uint8_t {
    Done,       ///< it may be released
    Gathered,   ///< its payload waits in the landing, and the frame must stay; more of the message may follow
    Complete,   ///< as Gathered, and what is gathered must be landed now
    LandFirst,  ///< untouched: what is gathered must be landed before this frame is looked at
};

/// What one queue pair has gathered and not landed.
struct Gathered {
    std::uint32_t frames = 0;
    std::uint32_t bytes = 0;
    bool responses = false;  ///< READ data, by the ResponseHandler; else requests, by the Responder
};

/// The payloads themselves. One for an engine: a queue pair lands what it gathered before another one is looked at.
class Landing {
public:
    static constexpr std::size_t kMostFrames = 32;

    /// Precondition: not full.
    void add(std::span<const std::uint8_t> payload) { slices_[count_++] = payload; }
    void clear() { count_ = 0; }
    [[nodiscard]] bool full() const { return count_ == kMostFrames; }
    [[nodiscard]] ByteSlices slices() const { return {slices_.data(), count_}; }

private:
    std::array<std::span<const std::uint8_t>, kMostFrames> slices_;
    std::size_t count_ = 0;
};

}  // namespace vroce::nic

// One record with descriptors over a SEQPACKET socket, in each direction; the peer is hostile.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "provider/abi/vroce_abi.h"

namespace vroce::nic {

/// A descriptor that is closed with its owner.
class UniqueFd {
public:
    UniqueFd() = default;
    explicit UniqueFd(int fd) : fd_(fd) {}
    UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    UniqueFd& operator=(UniqueFd&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~UniqueFd() { reset(); }

    [[nodiscard]] int get() const { return fd_; }
    [[nodiscard]] int release() { return std::exchange(fd_, -1); }
    void reset();
    explicit operator bool() const { return fd_ >= 0; }

private:
    int fd_ = -1;
};

/// Room for the largest request, and one byte more to notice a larger one.
struct ReceivedRecord {
    alignas(8) std::array<std::byte, VROCE_CONTROL_BYTES_MAX + 1> bytes;
    std::size_t size = 0;
    std::array<UniqueFd, VROCE_MAX_FDS> fds;
    std::size_t fd_count = 0;
    bool fds_lost = false;  ///< more were sent than there is room for; the surplus is closed
};

enum class ReceiveResult : std::uint8_t { Record, Nothing, Closed };

/// Never blocks. Closes what descriptors `record` had.
[[nodiscard]] ReceiveResult receive_record(int socket, ReceivedRecord& record);
/// Never blocks; false: the peer is gone or does not read its replies.
[[nodiscard]] bool send_record(int socket, std::span<const std::byte> bytes, std::span<const int> fds);

}  // namespace vroce::nic

// An endpoint's IP interface: a TAP of our own on /dev/net/tun. It is born in the host's network namespace, because one
// that is moved there loses its addresses and state.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/base/result.hpp"
#include "common/packet/port.hpp"

namespace vroce::nic {

struct TapCounters {
    std::uint64_t rx_packets = 0;
    std::uint64_t rx_bytes = 0;
    std::uint64_t rx_errors = 0;
    std::uint64_t rx_no_buffer = 0;  ///< reads not done because the pool was empty
    std::uint64_t tx_packets = 0;
    std::uint64_t tx_bytes = 0;
    std::uint64_t tx_refused = 0;  ///< frames that the kernel did not take: its interface is down or it lacks memory
};

class TapPort final : public Port {
public:
    /// Makes the interface in the calling thread's namespace; it goes away with the port.
    static Result<std::unique_ptr<TapPort>> open(const std::string& interface, PacketPool& pool);
    ~TapPort() override;
    TapPort(const TapPort&) = delete;
    TapPort& operator=(const TapPort&) = delete;

    std::size_t receive(std::span<Packet*> out) override;
    /// Takes all: what the kernel refuses is dropped and counted, as an interface that is down does.
    std::size_t send(std::span<Packet* const> packets) override;
    bool link_up() const override { return true; }
    int wake_fd() const override { return fd_; }
    /// Frames wait: the next receive() looks.
    void look() { skip_ = 0; }

    /// The interface was deleted, or its namespace; the port does nothing any more and its descriptor is of no use.
    [[nodiscard]] bool lost() const { return lost_; }
    [[nodiscard]] const TapCounters& counters() const { return counters_; }

private:
    /// A read of an empty TAP is a system call for nothing, and RDMA traffic turns the worker's loop in microseconds:
    /// after an empty one, so many receive() do not look.
    static constexpr unsigned kSkipsAfterEmpty = 15;

    TapPort(int fd, PacketPool& pool) : fd_(fd), pool_(pool) {}
    /// False: nothing there.
    bool read_one();

    int fd_;
    PacketPool& pool_;
    Packet* spare_ = nullptr;  ///< what the next frame is read into
    unsigned skip_ = 0;
    bool lost_ = false;
    TapCounters counters_;
};

}  // namespace vroce::nic

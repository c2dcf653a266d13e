#include "nic/io/tap_port.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace vroce::nic {

Result<std::unique_ptr<TapPort>> TapPort::open(const std::string& interface, PacketPool& pool) {
    const int fd = ::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return Error{fmt::format("/dev/net/tun: {}; TAP interfaces need root", std::strerror(errno))};
    std::unique_ptr<TapPort> port(new TapPort(fd, pool));
    ifreq request{};
    request.ifr_flags = IFF_TAP | IFF_NO_PI;
    interface.copy(request.ifr_name, IFNAMSIZ - 1);
    if (::ioctl(fd, TUNSETIFF, &request) != 0) {
        const char* hint = errno == EBUSY || errno == EINVAL ? " (an interface of this name is in use there)" : "";
        return Error{fmt::format("interface {} cannot be made: {}{}", interface, std::strerror(errno), hint)};
    }
    return port;
}

TapPort::~TapPort() {
    if (spare_ != nullptr) release(spare_);
    ::close(fd_);
}

std::size_t TapPort::receive(std::span<Packet*> out) {
    if (lost_) return 0;
    if (skip_ > 0) {
        --skip_;
        return 0;
    }
    std::size_t count = 0;
    while (count < out.size()) {
        if (spare_ == nullptr) spare_ = pool_.alloc();
        if (spare_ == nullptr) {
            ++counters_.rx_no_buffer;
            break;
        }
        if (!read_one()) break;
        out[count++] = std::exchange(spare_, nullptr);
    }
    if (count == 0) skip_ = kSkipsAfterEmpty;
    return count;
}

bool TapPort::read_one() {
    const ssize_t got = ::read(fd_, spare_->data, spare_->tailroom);
    if (got <= 0) {
        if (got == 0 || (errno != EAGAIN && errno != EINTR)) ++counters_.rx_errors;
        lost_ = got < 0 && errno == EBADFD;
        return false;
    }
    spare_->resize(static_cast<std::uint32_t>(got));
    ++counters_.rx_packets;
    counters_.rx_bytes += static_cast<std::uint64_t>(got);
    return true;
}

std::size_t TapPort::send(std::span<Packet* const> packets) {
    for (Packet* packet : packets) {
        if (::write(fd_, packet->data, packet->length) == static_cast<ssize_t>(packet->length)) {
            ++counters_.tx_packets;
            counters_.tx_bytes += packet->length;
        } else {
            ++counters_.tx_refused;
        }
        release(packet);
    }
    return packets.size();
}

}  // namespace vroce::nic

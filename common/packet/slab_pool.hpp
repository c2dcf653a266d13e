// Packets in ordinary memory: for unit tests, fuzzers and the simulator, where there is no DPDK.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/packet/packet.hpp"

namespace vroce {

class SlabPool final : public PacketPool {
public:
    static constexpr std::uint32_t kHeadroomBytes = 128;

    explicit SlabPool(std::size_t count, std::uint32_t max_frame_bytes = 9'216)
        : max_frame_bytes_(max_frame_bytes), packets_(count), buffers_(count) {
        free_.reserve(count);
        for (std::size_t i = 0; i < count; ++i) {
            buffers_[i] = std::make_unique<std::uint8_t[]>(kHeadroomBytes + max_frame_bytes);
            free_.push_back(&packets_[i]);
        }
    }

    Packet* alloc() override {
        if (free_.empty()) return nullptr;
        Packet* packet = free_.back();
        free_.pop_back();
        const auto slot = static_cast<std::size_t>(packet - packets_.data());
        *packet = Packet{};
        packet->data = buffers_[slot].get() + kHeadroomBytes;
        packet->headroom = kHeadroomBytes;
        packet->tailroom = max_frame_bytes_;
        packet->pool = this;
        return packet;
    }
    void free(Packet* packet) override { free_.push_back(packet); }
    std::uint32_t max_frame_bytes() const override { return max_frame_bytes_; }
    std::size_t available() const override { return free_.size(); }
    std::size_t in_use() const { return packets_.size() - free_.size(); }

private:
    std::uint32_t max_frame_bytes_;
    std::vector<Packet> packets_;
    std::vector<std::unique_ptr<std::uint8_t[]>> buffers_;
    std::vector<Packet*> free_;
};

}  // namespace vroce

// A QpEnv over plain vectors: rings, one registered region, completions and events that a test can look at, and
// switches that make each of its answers go wrong.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <span>
#include <vector>

#include "nic/transport/qp_env.hpp"

namespace vroce::nic::test {

struct PostedSend {
    SendWqe wqe;
    std::vector<std::uint8_t> data;  ///< payload of SEND and WRITE; room for READ
    bool valid = true;
};
struct PostedReceive {
    RecvWqe wqe;
    std::vector<std::uint8_t> room;
    bool valid = true;
};

class TestEnv final : public QpEnv {
public:
    static constexpr std::uint32_t kRkey = 0x1234'5678;
    static constexpr std::uint64_t kBase = 0x7000'0000'0000;

    // ---- what a test posts
    SendWqe& post(WrOpcode opcode, std::vector<std::uint8_t> data, std::uint8_t flags = kSendSignaled,
                  std::uint64_t remote_offset = 0) {
        PostedSend& posted = sends.emplace_back();
        posted.wqe.wr_id = 1'000 + sends.size() - 1;
        posted.wqe.index = static_cast<std::uint32_t>(sends.size() - 1);
        posted.wqe.length = data.size();
        posted.wqe.opcode = opcode;
        posted.wqe.flags = flags;
        posted.wqe.rkey = kRkey;
        posted.wqe.remote_addr = kBase + remote_offset;
        posted.wqe.imm = 0xCAFE'0000 + posted.wqe.index;
        posted.data = std::move(data);
        return posted.wqe;
    }
    void post_receive(std::size_t bytes) {
        PostedReceive& posted = receives.emplace_back();
        posted.wqe.wr_id = 2'000 + receives.size() - 1;
        posted.wqe.index = static_cast<std::uint32_t>(receives.size() - 1);
        posted.wqe.length = bytes;
        posted.room.resize(bytes);
    }

    // ---- QpEnv
    bool fetch_send(std::uint32_t index, SendWqe& out, bool& valid) override {
        ++fetches;
        if (index >= sends.size()) return false;
        out = sends[index].wqe;
        valid = sends[index].valid;
        return true;
    }
    CopyResult gather(const SendWqe& wqe, std::uint64_t offset, RoomSlices slices) override {
        ++gathers;
        const std::vector<std::uint8_t>& data = sends.at(wqe.index).data;
        for (const auto& slice : slices) {
            std::memcpy(slice.data(), data.data() + offset, slice.size());
            offset += slice.size();
        }
        return gather_result;
    }
    CopyResult scatter_read(const SendWqe& wqe, std::uint64_t offset, ByteSlices slices, bool last) override {
        std::vector<std::uint8_t>& data = sends.at(wqe.index).data;
        if (offset + total_bytes(slices) > data.size()) return CopyResult::Fault;
        put(slices, data.data() + offset);
        lasts += last ? 1 : 0;
        return scatter_read_result;
    }
    bool fetch_recv(std::uint32_t index, RecvWqe& out, bool& valid) override {
        if (index >= receives.size()) return false;
        out = receives[index].wqe;
        valid = receives[index].valid;
        return true;
    }
    CopyResult scatter_recv(const RecvWqe& wqe, std::uint64_t offset, ByteSlices slices, bool last) override {
        std::vector<std::uint8_t>& room = receives.at(wqe.index).room;
        if (offset + total_bytes(slices) > room.size()) return CopyResult::Fault;
        put(slices, room.data() + offset);
        lasts += last ? 1 : 0;
        return scatter_recv_result;
    }
    RemoteAccess check_remote(std::uint32_t rkey, std::uint64_t va, std::uint64_t length,
                              std::uint32_t access) override {
        ++remote_checks;
        if (remote_access != RemoteAccess::Ok) return remote_access;
        if (rkey != kRkey) return RemoteAccess::BadKey;
        if ((region_access & access) != access) return RemoteAccess::NoPermission;
        return inside(va, length) ? RemoteAccess::Ok : RemoteAccess::OutOfBounds;
    }
    CopyResult write_remote(std::uint32_t rkey, std::uint64_t va, ByteSlices slices, bool last) override {
        if (rkey != kRkey || !inside(va, total_bytes(slices))) return CopyResult::Fault;
        put(slices, region.data() + (va - kBase));
        lasts += last ? 1 : 0;
        return write_remote_result;
    }
    CopyResult read_remote(std::uint32_t rkey, std::uint64_t va, RoomSlices slices) override {
        ++remote_reads;
        for (const auto& slice : slices) {
            if (rkey != kRkey || !inside(va, slice.size())) return CopyResult::Fault;
            std::memcpy(slice.data(), region.data() + (va - kBase), slice.size());
            va += slice.size();
        }
        return read_remote_result;
    }
    bool complete(const Completion& completion) override {
        if (completions.size() >= completion_room) return false;
        completions.push_back(completion);
        return true;
    }
    void async_event(AsyncEventType type) override { events.push_back(type); }
    void state_changed(QpState state) override { states.push_back(state); }

    std::deque<PostedSend> sends;
    std::deque<PostedReceive> receives;
    std::vector<std::uint8_t> region = std::vector<std::uint8_t>(64 * 1'024);
    std::uint32_t region_access = kAccessLocalWrite | kAccessRemoteWrite | kAccessRemoteRead;
    std::vector<Completion> completions;
    std::vector<AsyncEventType> events;
    std::vector<QpState> states;
    std::size_t completion_room = SIZE_MAX;
    std::size_t fetches = 0;
    std::size_t gathers = 0;
    std::size_t remote_reads = 0;
    std::size_t remote_checks = 0;
    std::size_t lasts = 0;
    std::size_t landings = 0;
    RemoteAccess remote_access = RemoteAccess::Ok;
    CopyResult gather_result = CopyResult::Done;
    CopyResult scatter_read_result = CopyResult::Done;
    CopyResult scatter_recv_result = CopyResult::Done;
    CopyResult write_remote_result = CopyResult::Done;
    CopyResult read_remote_result = CopyResult::Done;

private:
    void put(ByteSlices slices, std::uint8_t* to) {
        ++landings;
        for (const auto& slice : slices) to = std::copy(slice.begin(), slice.end(), to);
    }
    [[nodiscard]] bool inside(std::uint64_t va, std::uint64_t length) const {
        return va >= kBase && va - kBase <= region.size() && length <= region.size() - (va - kBase);
    }
};

}  // namespace vroce::nic::test

// A NIC process for the plugin's tests: a thread that answers the control messages, makes real rings, and completes
// only what the test tells it to. It checks nothing; the real NIC's own tests do.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "provider/abi/vroce_abi.h"

namespace vroce::provider::test {

/// A memfd that both sides map.
struct SharedMemory {
    explicit SharedMemory(std::size_t size);
    ~SharedMemory();
    SharedMemory(const SharedMemory&) = delete;
    SharedMemory& operator=(const SharedMemory&) = delete;
    template <typename T>
    T* at(std::size_t offset) {
        return reinterpret_cast<T*>(base + offset);
    }
    std::byte* base = nullptr;
    std::size_t bytes = 0;
    int fd = -1;
};

struct FakeCq {
    vroce_create_cq request{};
    std::uint32_t slots = 0;
    std::uint32_t producer = 0;
    std::uint32_t comp_events = 0;
    std::uint32_t async_events = 0;
    std::unique_ptr<SharedMemory> memory;
    vroce_cq_control* control() { return memory->at<vroce_cq_control>(0); }
    vroce_cqe* ring() { return memory->at<vroce_cqe>(4096); }
};

struct FakeQp {
    vroce_create_qp request{};
    vroce_create_qp_reply reply{};
    vroce_qp_attr attr{};
    std::uint32_t async_events = 0;
    std::unique_ptr<SharedMemory> memory;
    vroce_qp_control* control() { return memory->at<vroce_qp_control>(0); }
    vroce_send_wqe* send_wqe(std::uint32_t index) {
        return memory->at<vroce_send_wqe>(reply.sq.offset +
                                          std::size_t{index & (reply.sq.slots - 1)} * reply.sq.stride);
    }
    vroce_recv_wqe* recv_wqe(std::uint32_t index) {
        return memory->at<vroce_recv_wqe>(reply.rq.offset +
                                          std::size_t{index & (reply.rq.slots - 1)} * reply.rq.stride);
    }
};

class FakeNic {
public:
    FakeNic();
    ~FakeNic();
    FakeNic(const FakeNic&) = delete;
    FakeNic& operator=(const FakeNic&) = delete;

    [[nodiscard]] const std::string& socket_path() const { return path_; }
    /// As kill -9 would: every descriptor of the NIC's is closed.
    void die();

    // ---- what the test makes the NIC do (between the plugin's calls)
    void complete(FakeCq& cq, const vroce_cqe& cqe);
    /// Completes WQE `index` of a QP: wr_id from the ring, status as given.
    void complete_send(FakeQp& qp, std::uint32_t index, std::uint8_t status = 0);
    void complete_recv(FakeQp& qp, std::uint32_t index, std::uint8_t status = 0);
    void send_comp_event(FakeCq& cq);
    void send_async_event(std::uint64_t element, std::uint32_t type);

    // ---- what the test looks at
    FakeCq& cq(std::uint32_t handle) { return *cqs_.at(handle); }
    FakeQp& qp(std::uint32_t handle) { return *qps_.at(handle); }
    std::uint32_t count(vroce_message message);
    vroce_doorbell_page& doorbells() { return *doorbell_page_.at<vroce_doorbell_page>(0); }
    vroce_status_page& status() { return *status_page_.at<vroce_status_page>(0); }
    /// How often the doorbell's eventfd was written since the last call.
    std::uint64_t wakeups();
    int memory_fd() const { return memory_fd_; }
    vroce_reg_mr last_mr{};
    bool last_mr_had_fd = false;

    // ---- how it answers
    std::uint16_t major = VROCE_ABI_MAJOR;
    std::uint32_t qp_type_seen = 0;
    std::map<std::uint32_t, std::int32_t> refuse;  ///< message -> errno

private:
    void serve();
    bool answer(const std::byte* record, std::size_t bytes, int fd);
    template <typename Reply>
    bool reply_with(Reply& reply, std::uint32_t message, std::int32_t status, const std::vector<int>& fds = {});
    bool hello(int fd);
    bool create_channel();
    bool create_cq(const vroce_create_cq& request);
    bool create_qp(const vroce_create_qp& request);
    bool modify_qp(const vroce_modify_qp& request);
    bool simple(const vroce_simple_request& request);
    bool query_device();
    bool query_port();
    bool reg_mr(const vroce_reg_mr& request, int fd);

    std::string path_;
    int listener_ = -1;
    int connection_ = -1;
    int doorbell_fd_ = -1;
    int memory_fd_ = -1;
    int async_pipe_[2] = {-1, -1};
    SharedMemory status_page_{4096};
    SharedMemory doorbell_page_{4096};
    std::uint32_t next_handle_ = 1;
    std::uint32_t next_slot_ = 0;
    std::map<std::uint32_t, std::unique_ptr<FakeCq>> cqs_;
    std::map<std::uint32_t, std::unique_ptr<FakeQp>> qps_;
    std::map<std::uint32_t, int> channels_;  ///< handle -> write end
    std::mutex mutex_;
    std::map<std::uint32_t, std::uint32_t> counts_;
    std::thread thread_;
};

}  // namespace vroce::provider::test

// The copy floor of the path application, NIC, switch, NIC, application: the same copies through the same rings with
// nothing else done: no headers, no checksums, no protocol. What the real path reaches is measured against it.
//
//   copy_floor [SECONDS] [MESSAGE_BYTES]        prints one JSON object: {"bytes_per_second": …, …}
//
// Three stages on the cores that the process may use, joined by rings of 256 frames in shared memory as memif has them:
//   first   process_vm_readv from process A into 16 frames, copy each frame into ring 1
//   second  copy each frame out of ring 1, copy it into ring 2
//   third   copy each frame out of ring 2, process_vm_writev of 16 frames into process B

#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t kFrameBytes = 4'096;
constexpr std::size_t kBurst = 16;
constexpr std::uint32_t kRingSlots = 256;

struct Ring {
    alignas(64) std::atomic<std::uint32_t> head{0};
    alignas(64) std::atomic<std::uint32_t> tail{0};
    alignas(64) std::uint8_t frames[kRingSlots][kFrameBytes];
};

Ring* make_ring() {
    void* memory =
        mmap(nullptr, sizeof(Ring), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED) {
        std::perror("copy_floor: mmap");
        std::exit(1);
    }
    return new (memory) Ring;
}

using Frames = std::vector<std::array<std::uint8_t, kFrameBytes>>;

/// Copies `count` frames in, waiting for room; false when told to stop.
bool put(Ring& ring, const Frames& frames, std::size_t count, const std::atomic<bool>& stop) {
    const std::uint32_t head = ring.head.load(std::memory_order_relaxed);
    while (kRingSlots - (head - ring.tail.load(std::memory_order_acquire)) < count) {
        if (stop.load(std::memory_order_relaxed)) return false;
        sched_yield();
    }
    for (std::uint32_t i = 0; i < count; ++i)
        std::memcpy(ring.frames[(head + i) % kRingSlots], frames[i].data(), kFrameBytes);
    ring.head.store(head + static_cast<std::uint32_t>(count), std::memory_order_release);
    return true;
}

/// Copies up to kBurst frames out, waiting for one; 0 when told to stop.
std::size_t take(Ring& ring, Frames& frames, const std::atomic<bool>& stop) {
    const std::uint32_t tail = ring.tail.load(std::memory_order_relaxed);
    std::uint32_t ready = 0;
    while ((ready = ring.head.load(std::memory_order_acquire) - tail) == 0) {
        if (stop.load(std::memory_order_relaxed)) return 0;
        sched_yield();
    }
    const std::uint32_t count = ready < kBurst ? ready : kBurst;
    for (std::uint32_t i = 0; i < count; ++i)
        std::memcpy(frames[i].data(), ring.frames[(tail + i) % kRingSlots], kFrameBytes);
    ring.tail.store(tail + count, std::memory_order_release);
    return count;
}

/// A process that only owns memory, at the address that its parent's buffer has.
pid_t fork_owner(std::vector<std::uint8_t>& memory) {
    const pid_t child = fork();
    if (child != 0) return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::memset(memory.data(), 0x5A, memory.size());
    for (;;) pause();
}

std::vector<iovec> slices(Frames& frames, std::size_t count) {
    std::vector<iovec> out;
    for (std::size_t i = 0; i < count; ++i) out.push_back({frames[i].data(), kFrameBytes});
    return out;
}

void first_stage(pid_t owner, std::vector<std::uint8_t>& memory, Ring& ring, const std::atomic<bool>& stop) {
    Frames frames(kBurst);
    const auto local = slices(frames, kBurst);
    for (std::size_t offset = 0; !stop.load(std::memory_order_relaxed);) {
        const iovec remote{memory.data() + offset, kBurst * kFrameBytes};
        if (process_vm_readv(owner, local.data(), kBurst, &remote, 1, 0) < 0) std::exit(1);
        if (!put(ring, frames, kBurst, stop)) return;
        offset = (offset + kBurst * kFrameBytes) % memory.size();
    }
}

void second_stage(Ring& in, Ring& out, const std::atomic<bool>& stop) {
    Frames frames(kBurst);
    while (const std::size_t count = take(in, frames, stop))
        if (!put(out, frames, count, stop)) return;
}

void third_stage(pid_t owner, std::vector<std::uint8_t>& memory, Ring& ring, const std::atomic<bool>& stop,
                 std::atomic<std::uint64_t>& landed) {
    Frames frames(kBurst);
    const auto local = slices(frames, kBurst);
    std::size_t offset = 0;
    while (const std::size_t count = take(ring, frames, stop)) {
        const iovec remote{memory.data() + offset, count * kFrameBytes};
        if (process_vm_writev(owner, local.data(), count, &remote, 1, 0) < 0) std::exit(1);
        landed.fetch_add(count * kFrameBytes, std::memory_order_relaxed);
        offset += count * kFrameBytes;
        if (offset + kBurst * kFrameBytes > memory.size()) offset = 0;
    }
}

}  // namespace

int main(int argc, char** argv) {
    const double run_seconds = argc > 1 ? std::atof(argv[1]) : 2.0;
    const std::size_t message_bytes = argc > 2 ? std::strtoull(argv[2], nullptr, 0) : 65'536;
    if (run_seconds <= 0 || message_bytes < kBurst * kFrameBytes || message_bytes % (kBurst * kFrameBytes) != 0) {
        std::fprintf(stderr, "usage: copy_floor [SECONDS > 0] [MESSAGE_BYTES, a multiple of 65536]\n");
        return 2;
    }
    std::vector<std::uint8_t> source(message_bytes);
    std::vector<std::uint8_t> target(message_bytes * 2);
    const pid_t owner_a = fork_owner(source);
    const pid_t owner_b = fork_owner(target);
    Ring* ring_1 = make_ring();
    Ring* ring_2 = make_ring();
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> landed{0};
    std::thread first([&] { first_stage(owner_a, source, *ring_1, stop); });
    std::thread second([&] { second_stage(*ring_1, *ring_2, stop); });
    std::thread third([&] { third_stage(owner_b, target, *ring_2, stop, landed); });
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const std::uint64_t before = landed.load();
    const auto begin = std::chrono::steady_clock::now();
    std::this_thread::sleep_for(std::chrono::duration<double>(run_seconds));
    const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const double rate = static_cast<double>(landed.load() - before) / elapsed;
    stop.store(true);
    first.join();
    second.join();
    third.join();
    for (const pid_t owner : {owner_a, owner_b}) {
        kill(owner, SIGKILL);
        waitpid(owner, nullptr, 0);
    }
    std::printf("{\"bytes_per_second\": %.0f, \"gigabits_per_second\": %.2f, \"message_bytes\": %zu}\n", rate,
                rate * 8 / 1e9, message_bytes);
    return 0;
}

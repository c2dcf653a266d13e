// Memory registration. The pages are faulted in here, as pinning would do; the NIC reaches them through the handed
// /proc/self/mem or, where the memory is a shared mapping of a memory file, by mapping the file itself.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <vector>

#include "provider/src/context.hpp"
#include "provider/src/maps.hpp"
#include "provider/src/verbs.hpp"

namespace vroce::provider {
namespace {

constexpr int kRemoteRights = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
constexpr int kRights =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
/// Hints that change nothing here, and the zero base, which is only another iova.
constexpr int kHints = IBV_ACCESS_HUGETLB | IBV_ACCESS_RELAXED_ORDERING;
constexpr int kUnsupported = IBV_ACCESS_ON_DEMAND | IBV_ACCESS_MW_BIND;
/// Shorter regions are not worth a mapping in the NIC process.
constexpr std::size_t kMappedBytesMin = 64 * 1024;

/// As ibv_reg_mr(3) has it, remote write and atomic access need local write access.
int check_request(std::uint64_t addr, std::size_t length, int access) {
    if ((access & kUnsupported) != 0) return EOPNOTSUPP;
    if ((access & ~(kRights | kHints | IBV_ACCESS_ZERO_BASED)) != 0) return EINVAL;
    if ((access & kRemoteRights) != 0 && (access & IBV_ACCESS_LOCAL_WRITE) == 0) return EINVAL;
    if (length == 0 || addr + length < addr) return EINVAL;
    return 0;
}

struct PageRange {
    std::byte* begin;
    std::size_t bytes;
    std::size_t page_bytes;
};

PageRange pages_around(void* addr, std::size_t length) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t before = reinterpret_cast<std::uintptr_t>(addr) & (page - 1);
    return {static_cast<std::byte*>(addr) - before, (before + length + page - 1) & ~(page - 1), page};
}

bool has_hole(const PageRange& range) {
    constexpr std::size_t kStepPages = 4096;
    std::vector<unsigned char> residency(kStepPages);
    for (std::size_t at = 0; at < range.bytes; at += kStepPages * range.page_bytes) {
        const std::size_t bytes = std::min(kStepPages * range.page_bytes, range.bytes - at);
        if (mincore(range.begin + at, bytes, residency.data()) != 0 && errno == ENOMEM) return true;
    }
    return false;
}

/// Kernels before 5.14 answer EINVAL to the advice itself.
bool kernel_populates() {
    static const bool known = [] {
        const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        void* probe = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (probe == MAP_FAILED) return false;
        const bool ok = madvise(probe, page, MADV_POPULATE_WRITE) == 0;
        munmap(probe, page);
        return ok;
    }();
    return known;
}

/// Faults the pages in. A hole is EFAULT, as pinning has it; memory that may not be written is EINVAL. madvise calls a
/// hole ENOMEM, which it also says when memory is short, so the two are told apart.
int populate(void* addr, std::size_t length, int access) {
    const PageRange range = pages_around(addr, length);
    if (!kernel_populates()) return has_hole(range) ? EFAULT : 0;
    const int advice = (access & IBV_ACCESS_LOCAL_WRITE) != 0 ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;
    int rc = 0;
    do {
        rc = madvise(range.begin, range.bytes, advice);
    } while (rc != 0 && (errno == EINTR || errno == EAGAIN));
    if (rc == 0) return 0;
    const int error = errno;
    return error == ENOMEM && has_hole(range) ? EFAULT : error;
}

/// A descriptor that the NIC process can map to get at the same memory; -1 for ordinary memory.
int shareable_file(std::uint64_t addr, std::size_t length, int access, std::uint64_t& offset) {
    if (length < kMappedBytesMin) return -1;
    const std::optional<Mapping> mapping = find_mapping(addr, length);
    if (!mapping) return -1;
    if ((access & IBV_ACCESS_LOCAL_WRITE) != 0 && !mapping->writable) return -1;
    const int fd = open_mapped_file(*mapping);
    if (fd < 0 || is_memory_file(fd)) {
        offset = mapping->file_offset + (addr - mapping->begin);
        return fd;
    }
    close(fd);
    return -1;
}

int register_with_nic(Context& context, vroce_reg_mr& request, vroce_reg_mr_reply& reply) {
    if (const int error = context.control_error()) return error;
    ReceivedFds none;
    const int fd = shareable_file(request.addr, request.length, static_cast<int>(request.access), request.fd_offset);
    if (fd < 0) return context.session.call(VROCE_REG_MR, request, reply, none);
    const int error = context.session.call(VROCE_REG_MR, request, reply, none, {fd});
    close(fd);
    return error;
}

int try_reg_mr(ProtectionDomain& pd, void* pointer, std::size_t length, std::uint64_t iova, int access,
               MemoryRegion& mr) {
    const auto addr = reinterpret_cast<std::uint64_t>(pointer);
    if (const int error = check_request(addr, length, access)) return error;
    if (const int error = populate(pointer, length, access)) return error;
    vroce_reg_mr request{};
    request.pd = pd.handle;
    request.access = static_cast<std::uint32_t>(access & kRights);
    request.addr = addr;
    request.length = length;
    request.iova = (access & IBV_ACCESS_ZERO_BASED) != 0 ? 0 : iova;
    vroce_reg_mr_reply reply{};
    if (const int error = register_with_nic(context_of(pd.verbs.context), request, reply)) return error;
    mr.handle = mr.verbs.ibv.handle = reply.handle;
    mr.verbs.ibv.lkey = reply.lkey;
    mr.verbs.ibv.rkey = reply.rkey;
    mr.verbs.mr_type = kMrTypeMr;
    mr.verbs.access = access;
    return 0;
}

}  // namespace

ibv_mr* reg_mr(ibv_pd* pd, void* addr, std::size_t length, std::uint64_t iova, int access) {
    auto mr = std::unique_ptr<MemoryRegion>(new (std::nothrow) MemoryRegion);
    if (mr == nullptr) return nullptr;
    if (const int error = try_reg_mr(protection_domain(pd), addr, length, iova, access, *mr)) {
        errno = error;
        return nullptr;
    }
    return &mr.release()->verbs.ibv;
}

int dereg_mr(verbs_mr* base) {
    auto* mr = reinterpret_cast<MemoryRegion*>(base);
    Context& context = context_of(base->ibv.context);
    vroce_simple_request request{};
    request.handle = mr->handle;
    vroce_simple_reply reply{};
    if (context.control_error() == 0) {
        const int error = context.session.call(VROCE_DEREG_MR, request, reply);
        if (error != 0 && !context.session.dead()) return error;
    }
    delete mr;
    return 0;
}

}  // namespace vroce::provider

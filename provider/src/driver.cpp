// The plugin's entry: which devices are ours, and the opening and closing of one.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>

#include "provider/kernel_abi/kernel_calls.hpp"
#include "provider/src/context.hpp"
#include "provider/src/library_version.hpp"
#include "provider/src/private_abi.hpp"
#include "provider/src/registry.hpp"
#include "provider/src/verbs.hpp"

namespace vroce::provider {
namespace {

constexpr char kNamePrefix[] = "vroce";

std::string session_file(const char* ibdev_path) {
    return std::string(ibdev_path) + "/session";
}

/// The device's name is a setting, so the mark of ours is the file `session` in its sysfs directory.
bool match_device(verbs_sysfs_dev* device) {
    return access(session_file(device->ibdev_path).c_str(), F_OK) == 0 ||
           std::strncmp(device->ibdev_name, kNamePrefix, sizeof kNamePrefix - 1) == 0;
}

verbs_device* alloc_device(verbs_sysfs_dev*) {
    return new (std::nothrow) verbs_device{};
}
void uninit_device(verbs_device* device) {
    delete device;
}

/// Reads the path of the session socket; empty with errno when there is none.
std::string read_session_path(const ibv_device& device) {
    const std::string file = session_file(device.ibdev_path);
    const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC);
    char line[IBV_SYSFS_PATH_MAX] = {};
    const ssize_t count = fd < 0 ? -1 : read(fd, line, sizeof line - 1);
    const int error = errno;
    if (fd >= 0) close(fd);
    if (count <= 0 || line[0] != '/') {
        std::fprintf(stderr, "vroce: %s: %s: %s; a line with the session socket's absolute path is expected\n",
                     device.name, file.c_str(), count < 0 ? std::strerror(error) : "not a path");
        errno = ENODEV;
        return {};
    }
    line[std::strcspn(line, "\n")] = '\0';
    return line;
}

constexpr verbs_context_ops make_ops(void (*free_context)(ibv_context*)) {
    verbs_context_ops ops{};
    ops.alloc_pd = alloc_pd;
    ops.async_event = async_event;
    ops.create_cq = create_cq;
    ops.create_qp = create_qp;
    ops.create_qp_ex = create_qp_ex;
    ops.dealloc_pd = dealloc_pd;
    ops.dereg_mr = dereg_mr;
    ops.destroy_cq = destroy_cq;
    ops.destroy_qp = destroy_qp;
    ops.free_context = free_context;
    ops.modify_qp = modify_qp;
    ops.poll_cq = poll_cq;
    ops.post_recv = post_recv;
    ops.post_send = post_send;
    ops.query_device_ex = query_device_ex;
    ops.query_port = query_port;
    ops.query_qp = query_qp;
    ops.reg_mr = reg_mr;
    ops.req_notify_cq = req_notify_cq;
    return ops;
}

/// libibverbs closes the command and the async descriptor itself, and frees nothing of ours.
void free_context(ibv_context* base) {
    auto* block = reinterpret_cast<ContextBlock*>(reinterpret_cast<char*>(base) - offsetof(verbs_context, context));
    Registry::remove(*block->context);
    delete block->context;
    verbs_uninit_context(&block->verbs);
    std::free(block);
}

/// 0, or an errno after which nothing is left open but the block.
int open_context(ContextBlock& block, ibv_device& device) {
    const std::string path = read_session_path(device);
    if (path.empty()) return errno;
    if (!answer_kernel_calls()) {
        std::fprintf(stderr, "vroce: %s: cannot redirect libibverbs' own kernel calls; completion channels will fail\n",
                     device.name);
    }
    auto context = std::make_unique<Context>(block.verbs, device.name);
    if (const int error = context->open(path.c_str())) return error;
    block.verbs.context.num_comp_vectors = static_cast<int>(context->device.num_comp_vectors);
    block.context = context.release();
    Registry::add(*block.context);
    return 0;
}

verbs_context* alloc_context(ibv_device* device, int cmd_fd, void*) {
    auto* block = static_cast<ContextBlock*>(
        _verbs_init_and_alloc_context(device, cmd_fd, sizeof(ContextBlock), nullptr, kDriverIdUnknown));
    if (block == nullptr) return nullptr;
    block->verbs.context.async_fd = -1;
    if (const int error = open_context(*block, *device)) {
        verbs_uninit_context(&block->verbs);  // closes cmd_fd, and async_fd when it was there
        std::free(block);
        errno = error;
        return nullptr;
    }
    static constexpr verbs_context_ops kOps = make_ops(free_context);
    verbs_set_ops(&block->verbs, &kOps);
    return &block->verbs;
}

constexpr std::uint32_t kSysfsAbi = 1;  // what the NIC process writes into class/infiniband_verbs/uverbsN/abi_version

const verbs_device_ops kDeviceOps{"vroce",      kSysfsAbi,     kSysfsAbi, nullptr,      nullptr,
                                  match_device, alloc_context, nullptr,   alloc_device, uninit_device};

[[gnu::constructor]] void register_driver() {
    if (library_is_known()) verbs_register_driver_34(&kDeviceOps);
}

}  // namespace
}  // namespace vroce::provider

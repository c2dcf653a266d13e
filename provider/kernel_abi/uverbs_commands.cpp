#include "provider/kernel_abi/uverbs_commands.hpp"

#include <rdma/ib_user_verbs.h>

#include <cerrno>
#include <cstring>

#include "provider/src/context.hpp"

namespace vroce::provider {
namespace {

int create_comp_channel(Context& context, const std::byte* body, std::size_t body_bytes) {
    ib_uverbs_create_comp_channel command{};
    if (body_bytes < sizeof command) return EINVAL;
    std::memcpy(&command, body, sizeof command);
    int fd = -1;
    if (const int error = context.create_channel(fd)) return error;
    const ib_uverbs_create_comp_channel_resp response{static_cast<__u32>(fd)};
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the command carries the response's address as a number
    std::memcpy(reinterpret_cast<void*>(command.response), &response, sizeof response);
    return 0;
}

int dispatch(Context& context, const std::byte* bytes, std::size_t count) {
    ib_uverbs_cmd_hdr header{};
    if (count < sizeof header) return EINVAL;
    std::memcpy(&header, bytes, sizeof header);
    if (header.command != IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL) return ENOSYS;
    return create_comp_channel(context, bytes + sizeof header, count - sizeof header);
}

}  // namespace

ssize_t answer_uverbs_command(Context& context, const void* bytes, std::size_t count) {
    const int error = dispatch(context, static_cast<const std::byte*>(bytes), count);
    if (error == 0) return static_cast<ssize_t>(count);
    errno = error;
    return -1;
}

}  // namespace vroce::provider

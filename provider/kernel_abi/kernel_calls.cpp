#include "provider/kernel_abi/kernel_calls.hpp"

#include <unistd.h>

#include <array>
#include <mutex>

#include "provider/kernel_abi/got_hooks.hpp"
#include "provider/kernel_abi/uverbs_commands.hpp"
#include "provider/src/registry.hpp"

namespace vroce::provider {
namespace {

ssize_t verbs_write(int fd, const void* bytes, size_t count) {
    Context* context = Registry::by_command_fd(fd);
    return context == nullptr ? ::write(fd, bytes, count) : answer_uverbs_command(*context, bytes, count);
}

// ibv_destroy_comp_channel is a close and nothing else.
int verbs_close(int fd) {
    Registry::drop_channel(fd);
    return ::close(fd);
}

/// One line per redirected call; librdmacm's calls take their place here.
const std::array kHooks{
    GotHook{"libibverbs.so", "write", reinterpret_cast<void*>(&verbs_write)},
    GotHook{"libibverbs.so", "close", reinterpret_cast<void*>(&verbs_close)},
};

}  // namespace

// One thread at a time: a page of the table is writable only for the moment of the store.
bool answer_kernel_calls() {
    static std::mutex mutex;
    const std::lock_guard guard(mutex);

    return install_got_hooks(kHooks) >= kHooks.size();
}

}  // namespace vroce::provider

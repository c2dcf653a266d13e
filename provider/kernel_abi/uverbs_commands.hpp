// The uverbs commands (rdma/ib_user_verbs.h) that libibverbs writes to a device's descriptor without asking the
// provider. In version 44 that is CREATE_COMP_CHANNEL.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace vroce::provider {

class Context;

/// Does the command and answers as write() does: `count`, or -1 with errno (ENOSYS for commands that are not ours).
ssize_t answer_uverbs_command(Context& context, const void* bytes, std::size_t count);

}  // namespace vroce::provider

// Which open contexts this process has, for calls that come from libibverbs with nothing but a descriptor.
#pragma once

namespace vroce::provider {

class Context;

class Registry {
public:
    static void add(Context& context);
    static void remove(Context& context);
    /// The context whose command descriptor this is; null when it is none of ours, and in a forked child.
    static Context* by_command_fd(int fd);
    /// Lets go of the completion channel that reads from `fd`, if one does.
    static void drop_channel(int fd);
};

}  // namespace vroce::provider

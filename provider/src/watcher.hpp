// The helper thread of a context: waits for the end of the session's socket, which is how the NIC's death shows, and
// writes events that had to be held because a pipe was full.
#pragma once

#include <pthread.h>

namespace vroce::provider {

class Context;

class Watcher {
public:
    /// 0 or an errno. The thread blocks all signals.
    int start(Context& context);
    /// Ends the thread; not in a forked child, where it does not exist.
    void stop();
    /// Lets go of the descriptor only.
    void forget();
    /// Makes it look for held events.
    void poke();

private:
    static void* run(void* self);
    void watch();

    Context* context_ = nullptr;
    pthread_t thread_{};
    int wake_fd_ = -1;
    bool running_ = false;
    bool stop_ = false;  ///< written before the wake-up that makes the thread read it
};

}  // namespace vroce::provider

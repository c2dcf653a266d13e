#include "common/base/fault_guard.hpp"

#include <signal.h>

namespace vroce::detail {

thread_local sigjmp_buf* fault_return = nullptr;

namespace {

struct sigaction previous_segv;
struct sigaction previous_bus;

void on_fault(int signal, siginfo_t* info, void* context) {
    if (fault_return != nullptr) {
        sigjmp_buf* target = fault_return;
        fault_return = nullptr;
        siglongjmp(*target, 1);
    }
    // Not ours: whoever was there before us, or death as usual.
    const struct sigaction& previous = signal == SIGSEGV ? previous_segv : previous_bus;
    if ((previous.sa_flags & SA_SIGINFO) != 0 && previous.sa_sigaction != nullptr) {
        previous.sa_sigaction(signal, info, context);
        return;
    }
    sigaction(signal, &previous, nullptr);
}

}  // namespace

void install_fault_guard() {
    struct sigaction action {};
    action.sa_sigaction = on_fault;
    // SA_NODEFER: leaving by siglongjmp without a saved mask must not leave the signal blocked.
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &action, &previous_segv);
    sigaction(SIGBUS, &action, &previous_bus);
}

}  // namespace vroce::detail

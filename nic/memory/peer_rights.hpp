// Who may be reached by pid. A pid names a process and not an address space: exec and setuid keep it. A NIC that may
// look into any process would write, for an unprivileged user, into a set-uid program that this user started under the
// old pid. So access by pid happens between equals only, and without the privilege that makes unequals equal.
#pragma once

#include <sys/types.h>

namespace vroce::nic {

/// Whether `pid` and this process are equals, asked once when a session begins:
///  - same real, effective, saved and file-system user and group, same user namespace;
///  - no capability of ours that it lacks (root and root with equal sets are equals);
///  - the kernel lets us in without CAP_SYS_PTRACE (it is dumpable, has no capability that we lack, no LSM objects).
[[nodiscard]] bool may_use_pid(pid_t pid);

/// Takes CAP_SYS_PTRACE out of the calling thread's effective set, for good. From then on the kernel compares real,
/// effective and saved ids and the capabilities at every process_vm call of this thread: a process that changed its
/// user after may_use_pid(), or runs a set-uid program now, is refused. False when that cannot be had. Costs one system
/// call per thread, once.
[[nodiscard]] bool forgo_access_by_privilege();

}  // namespace vroce::nic

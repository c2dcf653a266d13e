#include "tools/view/device_view.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace vroce::tools {
namespace {

namespace fs = std::filesystem;

// Every tree is put together here and then moved to its place: /sys exists everywhere and is covered only meanwhile.
constexpr const char* kStage = "/sys";
constexpr const char* kDriverDir = "/etc/libibverbs.d";

Error failed(const std::string& what) {
    return Error{fmt::format("{}: {}", what, std::strerror(errno))};
}

Status mount_at(const char* source, const std::string& target, const char* type, unsigned long flags,
                const std::string& options) {
    if (::mount(source, target.c_str(), type, flags, options.c_str()) != 0) {
        return failed(fmt::format("mount {} on {}", type != nullptr ? type : source, target));
    }
    return Done{};
}

Status write_file(const std::string& path, const std::string& text) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0) return failed(path);
    const bool ok = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    const Status status = ok ? Status(Done{}) : Status(failed(path));
    ::close(fd);
    return status;
}

/// The user keeps its own id inside, so that a program sees no difference; its capabilities go away at exec.
Status become_namespace_owner(uid_t uid, gid_t gid) {
    if (Status s = write_file("/proc/self/setgroups", "deny"); !s) return s;
    if (Status s = write_file("/proc/self/uid_map", fmt::format("{} {} 1", uid, uid)); !s) return s;
    return write_file("/proc/self/gid_map", fmt::format("{} {} 1", gid, gid));
}

Status make_namespaces(bool user_namespace) {
    const uid_t uid = ::geteuid();
    const gid_t gid = ::getegid();
    if (::unshare(CLONE_NEWNS | (user_namespace ? CLONE_NEWUSER : 0)) != 0) {
        return Error{
            fmt::format("a private mount namespace is refused ({}): needs root, or a kernel that lets users "
                        "make user namespaces (/proc/sys/user/max_user_namespaces > 0)",
                        std::strerror(errno))};
    }
    if (user_namespace) {
        if (Status s = become_namespace_owner(uid, gid); !s) return s;
    }
    // Slave: later mounts of the host appear here, ours never appear there.
    return mount_at("none", "/", nullptr, MS_REC | MS_SLAVE, "");
}

/// A sysfs mount shows the interfaces of the network namespace in which it was made.
Status mount_fresh_sysfs() {
    const int cgroup = ::open_tree(AT_FDCWD, "/sys/fs/cgroup", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
    const Status mounted = mount_at("sysfs", "/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "");
    if (cgroup >= 0) {
        // Programs that read their cgroup's limits go on to find them; without cgroups there is nothing to keep.
        if (mounted) static_cast<void>(::move_mount(cgroup, "", AT_FDCWD, "/sys/fs/cgroup", MOVE_MOUNT_F_EMPTY_PATH));
        ::close(cgroup);
    }
    return mounted;
}

Status stage_tmpfs() {
    return mount_at("tmpfs", kStage, "tmpfs", MS_NOSUID, "mode=0755");
}

Status move_stage(const std::string& target) {
    return mount_at(kStage, target, nullptr, MS_MOVE, "");
}

Status bind_node(const std::string& source, const std::string& target) {
    const int fd = ::open(target.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
    if (fd < 0) return failed(target);
    ::close(fd);
    return mount_at(source.c_str(), target, nullptr, MS_BIND, "");
}

Status bind_directory(const std::string& source, const std::string& target) {
    if (::mkdir(target.c_str(), 0755) != 0) return failed(target);
    // Recursive: pts, shm and hugepages are mounts below /dev, and a user namespace may not part them from it.
    return mount_at(source.c_str(), target, nullptr, MS_BIND | MS_REC, "");
}

Status copy_device_entry(const std::string& name) {
    const std::string source = "/dev/" + name;
    const std::string target = fmt::format("{}/{}", kStage, name);
    struct stat st {};
    if (::lstat(source.c_str(), &st) != 0) return Done{};  // gone since readdir
    if (S_ISDIR(st.st_mode)) return bind_directory(source, target);
    if (!S_ISLNK(st.st_mode)) return bind_node(source, target);
    std::error_code ignored;
    const fs::path link = fs::read_symlink(source, ignored);
    return ::symlink(link.c_str(), target.c_str()) == 0 ? Status(Done{}) : Status(failed(target));
}

bool is_essential(const std::string& name) {
    return name == "null" || name == "full" || name == "zero" || name == "urandom" || name == "shm";
}

Status copy_old_devices() {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator("/dev", error)) {
        const std::string name = entry.path().filename().string();
        if (name == "infiniband") continue;
        // An odd entry (a dead mount, a fuse of another user) must not keep the command from running.
        if (Status s = copy_device_entry(name); !s && is_essential(name)) return s;
    }
    return error ? Status(Error{"/dev: " + error.message()}) : Status(Done{});
}

/// 1:7 (/dev/full): a request that nobody answers fails with ENOSPC and does not seem to succeed.
Status add_verbs_nodes(const std::string& class_dir) {
    const std::string dir = fmt::format("{}/infiniband", kStage);
    if (::mkdir(dir.c_str(), 0755) != 0) return failed(dir);
    if (Status s = bind_node("/dev/full", dir + "/rdma_cm"); !s) return s;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(class_dir + "/infiniband_verbs", error)) {
        const std::string name = entry.path().filename().string();
        if (name.rfind("uverbs", 0) != 0) continue;
        if (Status s = bind_node("/dev/full", fmt::format("{}/{}", dir, name)); !s) return s;
    }
    if (error) return Error{fmt::format("{}/infiniband_verbs: {}", class_dir, error.message())};
    return Done{};
}

Status build_dev(const std::string& class_dir) {
    if (Status s = stage_tmpfs(); !s) return s;
    if (Status s = copy_old_devices(); !s) return s;
    if (Status s = add_verbs_nodes(class_dir); !s) return s;
    return move_stage("/dev");
}

/// Overlay options end at a comma, its directories at a colon.
std::string escape(const std::string& path) {
    std::string out;
    for (const char c : path) {
        if (c == ':' || c == ',' || c == '\\') out += '\\';
        out += c;
    }
    return out;
}

Status overlay_sys_class(const DeviceView& view) {
    const std::string options =
        fmt::format("lowerdir={}:/sys/class{}", escape(view.class_dir), view.user_namespace ? ",userxattr" : "");
    if (::mount("overlay", "/sys/class", "overlay", 0, options.c_str()) != 0) {
        return Error{fmt::format("overlay on /sys/class: {} (the kernel needs overlayfs{})", std::strerror(errno),
                                 view.user_namespace ? " usable in user namespaces, Linux 5.11" : "")};
    }
    // An overlay may keep what it saw of a lower file; a bind shows every change the NIC makes.
    for (const char* part : {"infiniband", "infiniband_verbs"}) {
        const std::string source = fmt::format("{}/{}", view.class_dir, part);
        if (Status s = mount_at(source.c_str(), fmt::format("/sys/class/{}", part), nullptr, MS_BIND, ""); !s) return s;
    }
    return Done{};
}

/// libibverbs takes `driver /absolute/path` as the plugin without its -rdmav34.so. Only ours is left in the folder: no
/// other device is visible here, and seventeen libraries need not be loaded.
Status add_driver_file(const std::string& plugin) {
    if (plugin.find_first_of(" \t") != std::string::npos) {
        return Error{fmt::format("{}: libibverbs cannot load a plugin whose path has white space in it", plugin)};
    }
    std::error_code error;
    if (!fs::is_directory(kDriverDir, error)) {
        // Only ibverbs-providers brings the folder; without it libibverbs still reads this variable.
        return ::setenv("RDMAV_DRIVERS", plugin.c_str(), 1) == 0 ? Status(Done{}) : Status(failed("RDMAV_DRIVERS"));
    }
    if (Status s = stage_tmpfs(); !s) return s;
    if (Status s = write_file(fmt::format("{}/vroce.driver", kStage), fmt::format("driver {}\n", plugin)); !s) return s;
    return move_stage(kDriverDir);
}

}  // namespace

std::string find_plugin() {
    std::error_code error;
    const fs::path self = fs::read_symlink("/proc/self/exe", error);
    const fs::path built = self.parent_path().parent_path() / "provider" / "libvroce";
    return fs::exists(built.string() + "-rdmav34.so", error) ? built.string() : std::string();
}

Status enter_device_view(const DeviceView& view) {
    std::error_code error;
    if (!fs::is_directory(view.class_dir + "/infiniband_verbs", error)) {
        return Error{fmt::format("{} is not the class folder of a running endpoint", view.class_dir)};
    }
    if (Status s = make_namespaces(view.user_namespace); !s) return s;
    if (view.fresh_sysfs) {
        if (Status s = mount_fresh_sysfs(); !s) return s;
    }
    if (Status s = build_dev(view.class_dir); !s) return s;
    if (Status s = overlay_sys_class(view); !s) return s;
    return view.plugin.empty() ? Status(Done{}) : add_driver_file(view.plugin);
}

}  // namespace vroce::tools

#include "provider/src/maps.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace vroce::provider {
namespace {

struct CloseFile {
    void operator()(FILE* file) const { std::fclose(file); }
};
struct CloseDirectory {
    void operator()(DIR* directory) const { closedir(directory); }
};
using File = std::unique_ptr<FILE, CloseFile>;

/// Reads lines of any length into one buffer.
class LineReader {
public:
    explicit LineReader(const char* path) : file_(std::fopen(path, "re")) {}
    ~LineReader() { std::free(line_); }
    LineReader(const LineReader&) = delete;
    LineReader& operator=(const LineReader&) = delete;

    bool next(std::string_view& line) {
        const ssize_t count = file_ == nullptr ? -1 : getline(&line_, &room_, file_.get());
        if (count <= 0) return false;
        line = {line_, static_cast<std::size_t>(count)};
        if (line.back() == '\n') line.remove_suffix(1);
        return true;
    }

private:
    File file_;
    char* line_ = nullptr;
    std::size_t room_ = 0;
};

bool continues(const Mapping& first, const Mapping& next) {
    return next.begin == first.end && next.shared == first.shared && next.inode == first.inode &&
           next.device == first.device && next.file_offset == first.file_offset + (first.end - first.begin);
}

bool is_file_of(int fd, const Mapping& mapping) {
    struct stat status {};
    return fstat(fd, &status) == 0 && status.st_ino == mapping.inode && status.st_dev == mapping.device;
}

/// Opens `path`, read-write and only if it is the mapped file.
int open_if_same(const std::string& path, const Mapping& mapping) {
    const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd >= 0 && is_file_of(fd, mapping)) return fd;
    if (fd >= 0) close(fd);
    return -1;
}

/// A memfd has no name that could be opened, but the application usually still holds its descriptor.
int open_own_descriptor(const Mapping& mapping) {
    const std::unique_ptr<DIR, CloseDirectory> directory(opendir("/proc/self/fd"));
    if (directory == nullptr) return -1;
    while (const dirent* entry = readdir(directory.get())) {
        const int fd = std::atoi(entry->d_name);
        if (entry->d_name[0] == '.' || fd == dirfd(directory.get()) || !is_file_of(fd, mapping)) continue;
        const int copy = open_if_same(std::string("/proc/self/fd/") + entry->d_name, mapping);
        if (copy >= 0) return copy;
    }
    return -1;
}

}  // namespace

std::optional<Mapping> parse_mapping(std::string_view line) {
    const std::string text(line);  // sscanf needs the terminator
    Mapping m;
    char permissions[5] = {};
    unsigned major_number = 0;
    unsigned minor_number = 0;
    int path_at = -1;
    const int fields =
        std::sscanf(text.c_str(), "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &m.begin, &m.end,
                    permissions, &m.file_offset, &major_number, &minor_number, &m.inode, &path_at);
    if (fields != 7 || m.end <= m.begin || std::strlen(permissions) != 4) return std::nullopt;
    m.writable = permissions[1] == 'w';
    m.shared = permissions[3] == 's';
    m.device = makedev(major_number, minor_number);
    if (path_at >= 0) m.path = text.substr(static_cast<std::size_t>(path_at));
    return m;
}

std::optional<Mapping> find_mapping(std::uint64_t addr, std::uint64_t length) {
    LineReader maps("/proc/self/maps");
    std::string_view line;
    std::optional<Mapping> found;
    while (maps.next(line)) {
        const std::optional<Mapping> m = parse_mapping(line);
        if (!m || m->end <= addr) continue;
        if (!found) {
            if (m->begin > addr) return std::nullopt;
            found = m;
        } else if (continues(*found, *m)) {
            found->end = m->end;
            found->writable = found->writable && m->writable;
        } else {
            return std::nullopt;
        }
        // Private memory needs no more reading: where it ends does not matter.
        if (!found->shared || found->inode == 0) return std::nullopt;
        if (length <= found->end - addr) return found;
    }
    return std::nullopt;
}

int open_mapped_file(const Mapping& mapping) {
    int fd = open_own_descriptor(mapping);
    if (fd < 0 && mapping.path.size() > 1 && mapping.path[0] == '/') fd = open_if_same(mapping.path, mapping);
    if (fd < 0) {
        char path[64];
        std::snprintf(path, sizeof path, "/proc/self/map_files/%" PRIx64 "-%" PRIx64, mapping.begin, mapping.end);
        fd = open_if_same(path, mapping);  // SysV segments; only with the capability to follow such links
    }
    return fd;
}

bool is_memory_file(int fd) {
    struct statfs status {};
    if (fstatfs(fd, &status) != 0) return false;
    const auto type = static_cast<unsigned long>(status.f_type);
    return type == TMPFS_MAGIC || type == HUGETLBFS_MAGIC;
}

}  // namespace vroce::provider

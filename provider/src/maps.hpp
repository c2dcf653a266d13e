// What lies behind a range of this process's addresses: whether it is one shared mapping of a file that the NIC process
// could map too.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vroce::provider {

/// One line of /proc/self/maps.
struct Mapping {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t file_offset = 0;
    std::uint64_t inode = 0;
    dev_t device = 0;
    bool shared = false;
    bool writable = false;
    std::string path;
};

std::optional<Mapping> parse_mapping(std::string_view line);

/// The mapping in which all of [addr, addr + length) lies; neighbours that continue the same file count as one.
std::optional<Mapping> find_mapping(std::uint64_t addr, std::uint64_t length);

/// A descriptor of the file behind a mapping, open for reading and writing; -1 when the process has no way to it.
int open_mapped_file(const Mapping& mapping);

/// A file whose pages are memory, so that a mapping of it elsewhere is the same memory: memfd, shm, hugetlbfs.
bool is_memory_file(int fd);

}  // namespace vroce::provider

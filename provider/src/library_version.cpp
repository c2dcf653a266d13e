#include "provider/src/library_version.hpp"

#include <dlfcn.h>

#include <charconv>
#include <climits>
#include <cstdio>
#include <cstdlib>

#include "provider/src/private_abi.hpp"

namespace vroce::provider {
namespace {

// PABI 34 is older than the 76-entry operation table, which came with 36; 57 has another PABI.
constexpr int kFirstRelease = 36;
constexpr int kLastRelease = 56;
constexpr std::string_view kPrefix = "libibverbs.so.1.";

}  // namespace

int release_of_library(std::string_view file_name) {
    const std::size_t slash = file_name.rfind('/');
    if (slash != std::string_view::npos) file_name.remove_prefix(slash + 1);
    if (file_name.substr(0, kPrefix.size()) != kPrefix) return -1;
    file_name.remove_prefix(kPrefix.size());
    const std::size_t dot = file_name.find('.');  // behind the public ABI's minor number
    if (dot == std::string_view::npos) return -1;
    file_name.remove_prefix(dot + 1);
    int release = -1;
    const auto [end, error] = std::from_chars(file_name.data(), file_name.data() + file_name.size(), release);
    return error == std::errc{} && (end == file_name.data() + file_name.size() || *end == '.') ? release : -1;
}

bool library_is_known() {
    Dl_info library{};
    if (dladdr(reinterpret_cast<void*>(&verbs_set_ops), &library) == 0 || library.dli_fname == nullptr) return false;
    char path[PATH_MAX];
    const char* name = realpath(library.dli_fname, path) != nullptr ? path : library.dli_fname;
    const int release = release_of_library(name);
    if (release >= kFirstRelease && release <= kLastRelease) return true;
    std::fprintf(stderr,
                 "vroce: %s: unknown libibverbs; this plugin knows rdma-core %d to %d, so its devices are not shown\n",
                 name, kFirstRelease, kLastRelease);
    return false;
}

}  // namespace vroce::provider

#include "nic/host/text_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace vroce::nic {
namespace {

Error path_error(const std::string& path) {
    return {path + ": " + std::strerror(errno)};
}

std::string read_file(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

Status make_directories(const std::string& path) {
    std::string made;
    for (const auto& part : std::filesystem::path(path)) {
        made = made.empty() ? part.string() : (std::filesystem::path(made) / part).string();
        if (mkdir(made.c_str(), 0755) == 0) {
            chmod(made.c_str(), 0755);
        } else if (errno != EEXIST) {
            return path_error(made);
        }
    }
    return Done{};
}

Status replace_file(const std::string& path, const std::string& text) {
    const std::filesystem::path target(path);
    const std::string beside = (target.parent_path() / ("." + target.filename().string())).string();
    const int fd = open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0) return path_error(beside);
    const bool written = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    const bool readable = fchmod(fd, 0644) == 0;
    if (close(fd) != 0 || !written || !readable) return path_error(beside);
    if (rename(beside.c_str(), path.c_str()) != 0) return path_error(path);
    return Done{};
}

Status keep_file(const std::string& path, const std::string& text) {
    std::error_code ignored;
    if (std::filesystem::is_regular_file(path, ignored) && read_file(path) == text) return Done{};
    return replace_file(path, text);
}

Status keep_link(const std::string& path, const std::string& target) {
    std::error_code ignored;
    if (std::filesystem::read_symlink(path, ignored) == target) return Done{};
    std::filesystem::remove_all(path, ignored);
    if (symlink(target.c_str(), path.c_str()) != 0) return path_error(path);
    return Done{};
}

}  // namespace vroce::nic

// Small text files that others read at any time.
#pragma once

#include <string>

#include "common/base/result.hpp"

namespace vroce::nic {

/// mkdir -p, mode 0755 whatever the umask.
Status make_directories(const std::string& path);
/// Readers see the old text or the new one, never a part: written beside it and renamed.
Status replace_file(const std::string& path, const std::string& text);
/// Leaves the file (and so its inode) alone when it says that already.
Status keep_file(const std::string& path, const std::string& text);
/// As keep_file, for a symbolic link.
Status keep_link(const std::string& path, const std::string& target);

}  // namespace vroce::nic

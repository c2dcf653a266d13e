// DPDK for the tests of common/dpdk: one environment for the program, without hugepages, since it cannot be started
// twice; and the other process of a memif.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

#include "common/dpdk/mbuf_pool.hpp"

namespace vroce::test {

class TemporaryDirectory {
public:
    TemporaryDirectory();
    ~TemporaryDirectory();
    TemporaryDirectory(const TemporaryDirectory&) = delete;
    TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
    [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }
    [[nodiscard]] const std::string& path() const { return path_; }

private:
    std::string path_;
};

/// Of the program: DPDK's runtime directory and the pool that the tests use.
const std::string& run_directory();
MbufPool& pool();

/// True as soon as `condition` holds; false after 20 s, so that nothing hangs.
bool await(const std::function<bool()>& condition);
[[nodiscard]] bool is_readable(int fd);

/// A second DPDK process on the socket: it sends every frame back with its first two bytes exchanged, and when it has
/// nothing to do it sleeps without a timer, so that only its doorbell can wake it.
class EchoPeer {
public:
    EchoPeer(const std::string& role, const std::string& memif_socket);
    ~EchoPeer() { kill(); }
    EchoPeer(const EchoPeer&) = delete;
    EchoPeer& operator=(const EchoPeer&) = delete;
    void kill();

private:
    TemporaryDirectory directory_;
    pid_t pid_;
};

}  // namespace vroce::test

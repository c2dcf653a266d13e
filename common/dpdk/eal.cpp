#include "common/dpdk/eal.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <rte_debug.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_log.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace vroce {

namespace {

/// Free hugepages of the default size, in MiB.
unsigned free_hugepages_mib() {
    std::ifstream meminfo("/proc/meminfo");
    std::string key;
    unsigned long free_pages = 0;
    unsigned long page_kib = 0;
    for (std::string line; std::getline(meminfo, line);) {
        std::istringstream words(line);
        words >> key;
        if (key == "HugePages_Free:") words >> free_pages;
        if (key == "Hugepagesize:") words >> page_kib;
    }
    return static_cast<unsigned>(free_pages * page_kib / 1024);
}

/// Standard error, put aside while EAL prints what nobody asked for (plugin probing); restored at the end.
class QuietStderr {
public:
    QuietStderr() : saved_(dup(STDERR_FILENO)), captured_(open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)) {
        if (captured_ >= 0) dup2(captured_, STDERR_FILENO);
    }
    ~QuietStderr() { restore(); }
    QuietStderr(const QuietStderr&) = delete;
    QuietStderr& operator=(const QuietStderr&) = delete;

    void restore() {
        if (saved_ < 0) return;
        fflush(stderr);
        dup2(saved_, STDERR_FILENO);
        close(saved_);
        saved_ = -1;
    }
    /// The last line that EAL printed, for an error message.
    [[nodiscard]] std::string last_line() const {
        std::string text(4096, '\0');
        const off_t end = lseek(captured_, 0, SEEK_END);
        const off_t from = end > 4096 ? end - 4096 : 0;
        const ssize_t size = pread(captured_, text.data(), text.size(), from);
        text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
        while (!text.empty() && text.back() == '\n') text.pop_back();
        const std::size_t line = text.rfind('\n');
        return line == std::string::npos ? text : text.substr(line + 1);
    }

private:
    int saved_;
    int captured_;
};

std::vector<std::string> arguments(const EalOptions& options, bool no_huge) {
    std::vector<std::string> args{
        options.name, "--no-pci", "--file-prefix=" + options.name,
        // A peer that comes and goes is ordinary and is told by the port; memif logs each try. DPDK applies these in
        // reverse order to a driver that is loaded later, so the exception comes first.
        "--log-level=pmd.net.memif:critical", "--log-level=*:error"};
    args.insert(args.end(), {"-m", std::to_string(options.memory_mib)});
    // Neither leaves files behind; the two cannot be had together, since --no-huge means the old memory layout.
    if (no_huge)
        args.insert(args.end(), {"--no-huge", "--no-shconf"});
    else
        args.emplace_back("--in-memory");
    // One lcore, the main thread's. Placing it is the owner's: EAL would otherwise pin it to processor 0.
    if (options.cpu >= 0)
        args.insert(args.end(), {"--lcores", "0@" + std::to_string(options.cpu)});
    else
        args.insert(args.end(), {"--lcores", "0@(0-" + std::to_string(sysconf(_SC_NPROCESSORS_ONLN) - 1) + ")"});
    return args;
}

}  // namespace

Status start_eal(const EalOptions& options) {
    setenv("RUNTIME_DIRECTORY", options.run_dir.c_str(), 1);
    bool no_huge = options.no_huge;
    const unsigned free_mib = free_hugepages_mib();
    if (!no_huge && free_mib < options.memory_mib) {
        std::fprintf(stderr, "%s: %u MiB of free hugepages, %u wanted: going on with ordinary pages (--no-huge)\n",
                     options.name.c_str(), free_mib, options.memory_mib);
        no_huge = true;
    }
    std::vector<std::string> args = arguments(options, no_huge);
    std::vector<char*> argv;
    for (std::string& arg : args) argv.push_back(arg.data());
    QuietStderr quiet;
    const int result = rte_eal_init(static_cast<int>(argv.size()), argv.data());
    quiet.restore();
    if (result < 0)
        return Error{"DPDK cannot start: " + std::string(rte_strerror(rte_errno)) + ": " + quiet.last_line()};
    return Done{};
}

void stop_eal() {
    rte_eal_cleanup();
}

}  // namespace vroce

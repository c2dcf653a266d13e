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

#include "common/dpdk/quiet_stderr.hpp"

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

std::vector<std::string> arguments(const EalOptions& options, bool no_huge) {
    std::vector<std::string> args{
        options.name, "--no-pci", "--file-prefix=" + options.name,
        // A peer that comes and goes is ordinary and is told by the port; memif logs each try. DPDK applies these in
        // reverse order to a driver that is loaded later, so the exception comes first.
        "--log-level=pmd.net.memif:critical", "--log-level=*:error"};
    // On ordinary pages a mempool gives each packet whole pages: 12 KiB for the 9.5 of a jumbo frame's. What is
    // reserved and not used costs nothing there.
    const unsigned memory_mib = no_huge ? options.memory_mib + options.memory_mib / 2 : options.memory_mib;
    args.insert(args.end(), {"-m", std::to_string(memory_mib)});
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
    argv.reserve(args.size());
    for (std::string& arg : args) argv.push_back(arg.data());
    QuietStderr quiet;
    const int result = rte_eal_init(static_cast<int>(argv.size()), argv.data());
    quiet.restore();
    if (result < 0)
        return Error{"DPDK cannot start: " + std::string(rte_strerror(rte_errno)) + ": " + quiet.last_line()};
    return Done{};
}

void stop_eal() {
    // rte_eal_cleanup would free the devices under DPDK's own interrupt thread, which still waits for their events and
    // then follows freed pointers. The kernel gives back all that an --in-memory process had.
    std::fflush(nullptr);
}

}  // namespace vroce

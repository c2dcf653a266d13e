// How the processes of a lab are started: their files, words and memory.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "tools/lab/lab_file.hpp"
#include "tools/lab/process.hpp"

namespace vroce::tools {

/// What all processes of a lab have in common.
struct SpawnSettings {
    std::string run_dir;
    std::string poll;
    int memory_mib = 0;
    bool huge = true;
    std::size_t processes = 0;
    std::vector<int> cpus;
};

/// From the lab's file and the machine; says so when hugepages are too few.
SpawnSettings settle(const Lab& lab, const std::string& run_dir);

/// Each writes the process's configuration into its folder. `index` counts all processes of the lab.
Result<Spawn> prepare_switch(const LabSwitch& sw, const SpawnSettings& settings, std::size_t index);
Result<Spawn> prepare_host(const Lab& lab, const LabHost& host, const SpawnSettings& settings, std::size_t index);

/// Programs of every user may look into it: endpoints' sockets lie below.
Status make_folder(const std::string& path);

}  // namespace vroce::tools

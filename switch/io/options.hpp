// The command line of vroce-switch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/result.hpp"

namespace vroce::sw {

struct Options {
    std::string name;
    std::string config;
    std::string run_dir;
    std::optional<unsigned> cpu;         ///< the worker's core; none: wherever the scheduler puts it
    std::optional<unsigned> memory_mib;  ///< none: what the ports need
    bool no_huge = false;
    bool busy = false;    ///< poll without sleeping
    bool rx_hold = true;  ///< leave packets in a port's ring while there is no room for them
    bool help = false;
    bool version = false;
};

/// The error is a usage error: exit code 2.
Result<Options> parse_options(int argc, const char* const* argv);
std::string options_help();

}  // namespace vroce::sw

// The whole process, from its options to its end.
#pragma once

#include "common/base/result.hpp"
#include "switch/io/options.hpp"

namespace vroce::sw {

/// Runs until SIGTERM or SIGINT. The error is one line: what could not be had, where, and what is allowed.
Status run_process(const Options& options);

}  // namespace vroce::sw

// Bringing a lab up and down.
#pragma once

#include <string>

#include "common/base/result.hpp"
#include "tools/lab/lab_file.hpp"
#include "tools/lab/lab_state.hpp"

namespace vroce::tools {

/// Starts what the file describes and waits until its hosts reach each other. A lab that is up already stays as it is;
/// dead processes of the same lab are started again. After a failure nothing of it is left.
Status lab_up(const Lab& lab, const std::string& run_dir);

/// Ends everything below the run directory, also what a crash left. With commands still running on its hosts it
/// refuses, unless forced: then it ends them too.
Status lab_down(const std::string& run_dir, bool force);

/// Without lock, question or state: processes, namespaces, folder. Used by both of the above.
Status remove_lab(const std::string& run_dir, const LabState* state);

/// True once the process answers; an Error with its last words when it dies or stays silent.
Status wait_ready(const std::string& run_dir, const LabProcess& process);

/// Waits until every endpoint's addresses are there and hosts of one subnet reach each other.
Status wait_reachable(const LabState& state);

/// Ctrl-C or TERM came while we were waiting.
bool interrupted();
void catch_interrupts();

}  // namespace vroce::tools

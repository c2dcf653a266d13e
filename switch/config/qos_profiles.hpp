// SCHEDULER and WRED_PROFILE: what queues and ports refer to by name.
#pragma once

#include "switch/config/reader.hpp"

namespace vroce::sw {

[[nodiscard]] Status read_schedulers(TableReader& reader, Named<SchedulerConfig>& schedulers);
[[nodiscard]] Status read_wred_profiles(TableReader& reader, Named<WredConfig>& profiles);

}  // namespace vroce::sw

// Priorities, schedulers and congestion control of the ports: the tables that PORT_QOS_MAP and QUEUE tie together.
//
// Ours, beside SONiC's fields:
//   PORT|x           pfc_asym     on | off                       SONiC's
//                    link_pause   on | off                       802.3x in both directions; excludes pfc_enable
//   PORT_QOS_MAP|x   trust        port | pcp | dscp | dscp,pcp | pcp,dscp
//                                 without it: what the port has maps for, DSCP before PCP
//                    default_tc   0..7                            of frames without the mark that is trusted
//   WRED_PROFILE|x   drop_green_min_threshold, drop_green_max_threshold, drop_green_drop_probability
//                                 when WRED shall not drop where ECN marks
//   VROCE_QOS|switch preset       roce                            what the file says itself wins
#pragma once

#include <span>

#include "switch/config/loader.hpp"
#include "switch/config/reader.hpp"

namespace vroce::sw {

enum class QosPreset : std::uint8_t { kNone, kRoce };

/// VROCE_QOS|switch; the buffer's settings go to `buffers`.
[[nodiscard]] Result<QosPreset> read_qos_settings(TableReader& reader, BufferConfig& buffers);

/// Fills `qos` of the ports and pfc_in_use, and refuses what contradicts itself.
[[nodiscard]] Status load_qos(TableReader& reader, QosPreset preset, std::span<const PortDevice> devices,
                              SwitchConfig& core);

}  // namespace vroce::sw

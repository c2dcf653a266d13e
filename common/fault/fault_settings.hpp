// What a bad link does, in the words a person types: "drop 0.01 corrupt 0.001 reorder 0.01 duplicate 0.01 delay 50us
// seed 7 direction tx".
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "common/base/result.hpp"
#include "common/base/time.hpp"

namespace vroce {

enum class FaultDirection : std::uint8_t { Tx = 1, Rx = 2, Both = 3 };

struct FaultSettings {
    double drop = 0;     ///< probabilities, 0..1
    double corrupt = 0;  ///< one or three flipped bits behind the Ethernet header
    double reorder = 0;  ///< the packet overtakes those that are delayed; without a delay the next few overtake it
    double duplicate = 0;
    Duration delay{};  ///< each packet, 0..10 s
    std::uint64_t seed = 1;

    [[nodiscard]] bool active() const {
        return drop > 0 || corrupt > 0 || reorder > 0 || duplicate > 0 || delay.ps > 0;
    }
};

struct FaultRequest {
    FaultSettings settings;
    FaultDirection direction = FaultDirection::Tx;
    /// A storm of PFC, without a gap: bit p for priority p. As if it came from the port's peer, and sent to the peer.
    std::uint8_t pfc_storm = 0;
    std::uint8_t pfc_storm_tx = 0;

    [[nodiscard]] bool active() const { return settings.active() || pfc_storm != 0 || pfc_storm_tx != 0; }
};

/// "3,4" as a mask of priorities 0..7.
Result<std::uint8_t> parse_priorities(std::string_view text);

/// Words behind the port's name. An unknown word, a missing or impossible value is refused with what is allowed.
Result<FaultRequest> parse_fault_words(std::span<const std::string> words);
/// The control socket's form: {drop, corrupt, reorder, duplicate, delay_ns, seed, direction, pfc_storm, pfc_storm_tx},
/// the last two as lists of priorities; absent keys keep defaults.
Result<FaultRequest> fault_from_json(const nlohmann::json& args);
nlohmann::json fault_to_json(const FaultRequest& request);

}  // namespace vroce

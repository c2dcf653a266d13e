// Rates are bytes per second in the file, as SONiC has them, and bits per second in the core.
#include "switch/config/qos_profiles.hpp"

namespace vroce::sw {
namespace {

constexpr std::uint64_t kRateMax = 100'000'000'000;  ///< bytes/s: 800 Gb/s
constexpr std::uint64_t kBurstMax = std::uint64_t{1} << 32;
/// Queue lengths are below 4 GiB (switch/qos/congestion.hpp).
constexpr std::uint64_t kThresholdMax = (std::uint64_t{1} << 32) - 1;

FieldSetter both(FieldSetter first, FieldSetter second) {
    return [first = std::move(first), second = std::move(second)](const FieldPlace& place) -> Status {
        if (Status status = first(place); !status) return status;
        return second(place);
    };
}

Status read_scheduler(TableReader& reader, const ConfigEntry& entry, Named<SchedulerConfig>& schedulers) {
    const std::string table = "SCHEDULER";
    SchedulerConfig scheduler;
    std::uint64_t weight = 1;
    std::uint64_t rate = 0;  // bytes/s, as SONiC's model has it
    std::uint64_t least_rate = 0;
    std::uint64_t least_burst = 0;
    bool packets = false;
    Status status = reader.fields(
        table, entry,
        {{"type",
          choice(scheduler.type,
                 {{"STRICT", SchedulerType::kStrict}, {"DWRR", SchedulerType::kDwrr}, {"WRR", SchedulerType::kDwrr}})},
         {"weight", number(weight, 1, 100, "")},
         {"meter_type", choice(packets, {{"bytes", false}, {"packets", true}})},
         {"pir", number(rate, 0, kRateMax, " (bytes/s)")},
         {"pbs", number(scheduler.burst_bytes, 0, kBurstMax, " (bytes)")},
         {"cir", both(number(least_rate, 0, kRateMax, " (bytes/s)"), reader.without_effect())},
         {"cbs", both(number(least_burst, 0, kBurstMax, " (bytes)"), reader.without_effect())}});
    if (!status) return status;
    if (packets && rate != 0) {
        return reader.refuse(table, entry.key, "meter_type \"packets\" with a pir; allowed: bytes");
    }
    if (rate != 0 && rate < least_rate) {
        return reader.refuse(table, entry.key,
                             fmt::format("pir \"{}\" is below cir \"{}\"; allowed: pir >= cir", rate, least_rate));
    }
    if (scheduler.burst_bytes != 0 && scheduler.burst_bytes < least_burst) {
        return reader.refuse(
            table, entry.key,
            fmt::format("pbs \"{}\" is below cbs \"{}\"; allowed: pbs >= cbs", scheduler.burst_bytes, least_burst));
    }
    scheduler.weight = static_cast<std::uint8_t>(weight);
    scheduler.max_rate_bps = rate * 8;
    schedulers[entry.key] = scheduler;
    return Done{};
}

/// Thresholds of one colour, or of drops apart from marks.
struct Curve {
    std::optional<std::uint64_t> min;
    std::optional<std::uint64_t> max;
    std::uint64_t percent = 100;
};
FieldSetter threshold(std::optional<std::uint64_t>& target) {
    return [&target](const FieldPlace& place) -> Status {
        std::uint64_t value = 0;
        Status status = number(value, 0, kThresholdMax, " (bytes)")(place);
        if (status) target = value;
        return status;
    };
}
void add_curve(std::map<std::string, FieldSetter>& setters, const std::string& colour, Curve& curve) {
    setters[colour + "_min_threshold"] = threshold(curve.min);
    setters[colour + "_max_threshold"] = threshold(curve.max);
    setters[colour + "_drop_probability"] = number(curve.percent, 0, 100, " (%)");
}
Status check_curve(const TableReader& reader, const ConfigEntry& entry, const std::string& colour, const Curve& curve,
                   bool needed) {
    if ((needed || curve.min || curve.max) && !(curve.min && curve.max)) {
        return reader.refuse("WRED_PROFILE", entry.key,
                             fmt::format("{0}_{1}_threshold is missing; allowed: 0..{2} (bytes)", colour,
                                         curve.min ? "max" : "min", kThresholdMax));
    }
    if (curve.min && *curve.max < *curve.min) {
        return reader.refuse("WRED_PROFILE", entry.key,
                             fmt::format("{0}_max_threshold \"{1}\" is below {0}_min_threshold \"{2}\"; allowed: "
                                         "max >= min",
                                         colour, *curve.max, *curve.min));
    }
    return Done{};
}

/// There are no meters, so every frame is green; the other colours are read, checked and without effect.
Status read_wred_profile(TableReader& reader, const ConfigEntry& entry, Named<WredConfig>& profiles) {
    enum class Ecn : std::uint8_t { kNone, kGreen, kOthersOnly };
    std::array<Curve, 4> curves;
    auto& [green, yellow, red, drop] = curves;
    Ecn ecn = Ecn::kNone;
    WredConfig profile;
    bool other_enabled = false;
    std::map<std::string, FieldSetter> setters{
        {"ecn", choice(ecn, {{"ecn_none", Ecn::kNone},
                             {"ecn_green", Ecn::kGreen},
                             {"ecn_yellow", Ecn::kOthersOnly},
                             {"ecn_red", Ecn::kOthersOnly},
                             {"ecn_green_yellow", Ecn::kGreen},
                             {"ecn_green_red", Ecn::kGreen},
                             {"ecn_yellow_red", Ecn::kOthersOnly},
                             {"ecn_all", Ecn::kGreen}})},
        {"wred_green_enable", choice(profile.wred, {{"true", true}, {"false", false}})},
        {"wred_yellow_enable", choice(other_enabled, {{"true", true}, {"false", false}})},
        {"wred_red_enable", choice(other_enabled, {{"true", true}, {"false", false}})}};
    const std::array<std::string, 4> names{"green", "yellow", "red", "drop_green"};
    for (std::size_t i = 0; i < curves.size(); ++i) add_curve(setters, names[i], curves[i]);
    if (Status status = reader.fields("WRED_PROFILE", entry, setters); !status) return status;
    if (ecn == Ecn::kOthersOnly) {
        return reader.refuse("WRED_PROFILE", entry.key,
                             "ecn would never mark, since every frame here is green; allowed: ecn_none, ecn_green, "
                             "ecn_green_yellow, ecn_green_red, ecn_all");
    }
    profile.ecn = ecn == Ecn::kGreen;
    for (std::size_t i = 0; i < curves.size(); ++i) {
        const bool needed = i == 0 && (profile.ecn || profile.wred);
        if (Status status = check_curve(reader, entry, names[i], curves[i], needed); !status) return status;
    }
    const Curve& drops = drop.min ? drop : green;
    profile.min_bytes = green.min.value_or(0);
    profile.max_bytes = green.max.value_or(0);
    profile.probability_percent = static_cast<std::uint8_t>(green.percent);
    profile.drop_min_bytes = drops.min.value_or(0);
    profile.drop_max_bytes = drops.max.value_or(0);
    profile.drop_probability_percent = static_cast<std::uint8_t>(drops.percent);
    profiles[entry.key] = profile;
    return Done{};
}

}  // namespace

Status read_schedulers(TableReader& reader, Named<SchedulerConfig>& schedulers) {
    return reader.each("SCHEDULER",
                       [&](const ConfigEntry& entry) { return read_scheduler(reader, entry, schedulers); });
}

Status read_wred_profiles(TableReader& reader, Named<WredConfig>& profiles) {
    return reader.each("WRED_PROFILE",
                       [&](const ConfigEntry& entry) { return read_wred_profile(reader, entry, profiles); });
}

}  // namespace vroce::sw

#include "common/fault/fault_settings.hpp"

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "common/base/units.hpp"

namespace vroce {

namespace {

constexpr Duration kDelayMax = seconds(10);
constexpr std::string_view kWords =
    "drop, corrupt, reorder, duplicate, delay, seed, direction, pfc-storm, pfc-storm-tx";

struct Probability {
    std::string_view word;
    double FaultSettings::*member;
};
constexpr std::array<Probability, 4> kProbabilities{{{"drop", &FaultSettings::drop},
                                                     {"corrupt", &FaultSettings::corrupt},
                                                     {"reorder", &FaultSettings::reorder},
                                                     {"duplicate", &FaultSettings::duplicate}}};

struct DirectionName {
    std::string_view word;
    FaultDirection direction;
};
constexpr std::array<DirectionName, 3> kDirections{
    {{"tx", FaultDirection::Tx}, {"rx", FaultDirection::Rx}, {"both", FaultDirection::Both}}};

Result<FaultDirection> parse_direction(std::string_view text) {
    for (const auto& name : kDirections)
        if (name.word == text) return name.direction;
    return Error{"direction '" + std::string(text) + "' is not tx, rx or both"};
}

Status set_word(FaultRequest& request, std::string_view word, std::string_view value) {
    for (const auto& p : kProbabilities) {
        if (p.word != word) continue;
        const auto parsed = parse_probability(value);
        if (!parsed) return Error{std::string(word) + " " + parsed.error()};
        request.settings.*p.member = *parsed;
        return Done{};
    }
    if (word == "delay") {
        const auto parsed = parse_duration(value);
        if (!parsed) return Error{"delay " + parsed.error()};
        if (*parsed > kDelayMax) return Error{"delay '" + std::string(value) + "' is over 10s"};
        request.settings.delay = *parsed;
        return Done{};
    }
    if (word == "seed") {
        const auto parsed = parse_u64(value);
        if (!parsed) return Error{"seed " + parsed.error()};
        request.settings.seed = *parsed;
        return Done{};
    }
    if (word == "pfc-storm" || word == "pfc-storm-tx") {
        const auto parsed = parse_priorities(value);
        if (!parsed) return Error{std::string(word) + " " + parsed.error()};
        (word == "pfc-storm" ? request.pfc_storm : request.pfc_storm_tx) = *parsed;
        return Done{};
    }
    if (word == "direction") {
        const auto parsed = parse_direction(value);
        if (!parsed) return Error{parsed.error()};
        request.direction = *parsed;
        return Done{};
    }
    return Error{"unknown word '" + std::string(word) + "'; allowed: " + std::string(kWords)};
}

Status set_from_json(FaultRequest& request, const std::string& key, const nlohmann::json& value) {
    const auto refuse = [&](std::string_view allowed) {
        return Error{key + " " + value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + " is not " +
                     std::string(allowed)};
    };
    for (const auto& p : kProbabilities) {
        if (p.word != key) continue;
        if (!value.is_number() || !(value.get<double>() >= 0 && value.get<double>() <= 1))
            return refuse("a probability from 0 to 1");
        request.settings.*p.member = value.get<double>();
        return Done{};
    }
    if (key == "delay_ns") {
        if (!value.is_number_integer() || value.get<std::int64_t>() < 0 || value.get<std::int64_t>() > 10'000'000'000)
            return refuse("a whole number of nanoseconds up to 10 s");
        request.settings.delay = nanoseconds(value.get<std::int64_t>());
        return Done{};
    }
    if (key == "seed") {
        if (!value.is_number_unsigned()) return refuse("a whole number");
        request.settings.seed = value.get<std::uint64_t>();
        return Done{};
    }
    if (key == "direction") {
        if (!value.is_string()) return refuse("tx, rx or both");
        const auto parsed = parse_direction(value.get_ref<const std::string&>());
        if (!parsed) return Error{parsed.error()};
        request.direction = *parsed;
        return Done{};
    }
    if (key == "pfc_storm" || key == "pfc_storm_tx") {
        if (!value.is_array()) return refuse("a list of priorities 0 to 7");
        unsigned mask = 0;
        for (const auto& priority : value) {
            if (!priority.is_number_unsigned() || priority.get<std::uint64_t>() > 7)
                return refuse("a list of priorities 0 to 7");
            mask |= 1u << priority.get<unsigned>();
        }
        (key == "pfc_storm" ? request.pfc_storm : request.pfc_storm_tx) = static_cast<std::uint8_t>(mask);
        return Done{};
    }
    if (key == "dev") return Done{};
    return Error{"unknown key '" + key +
                 "'; allowed: dev, drop, corrupt, reorder, duplicate, delay_ns, seed, direction, pfc_storm, "
                 "pfc_storm_tx"};
}

nlohmann::json list_of(std::uint8_t priorities) {
    nlohmann::json list = nlohmann::json::array();
    for (unsigned p = 0; p < 8; ++p)
        if ((priorities >> p & 1) != 0) list.push_back(p);
    return list;
}

}  // namespace

Result<std::uint8_t> parse_priorities(std::string_view text) {
    unsigned mask = 0;
    bool good = !text.empty();
    for (std::size_t i = 0; i < text.size() && good; i += 2) {
        const bool digit = text[i] >= '0' && text[i] <= '7';
        const bool ends = i + 1 == text.size() || (text[i + 1] == ',' && i + 2 < text.size());
        good = digit && ends;
        if (good) mask |= 1u << (text[i] - '0');
    }
    if (!good) return Error{"'" + std::string(text) + "' is not a list of priorities such as 3 or 3,4 (0 to 7)"};
    return static_cast<std::uint8_t>(mask);
}

Result<FaultRequest> parse_fault_words(std::span<const std::string> words) {
    if (words.empty()) return Error{"no fault given; allowed: " + std::string(kWords)};
    FaultRequest request;
    for (std::size_t i = 0; i < words.size(); i += 2) {
        if (i + 1 == words.size()) return Error{"'" + words[i] + "' needs a value"};
        const Status status = set_word(request, words[i], words[i + 1]);
        if (!status) return Error{status.error()};
    }
    return request;
}

Result<FaultRequest> fault_from_json(const nlohmann::json& args) {
    if (!args.is_object()) return Error{"args is not an object"};
    FaultRequest request;
    for (const auto& [key, value] : args.items()) {
        const Status status = set_from_json(request, key, value);
        if (!status) return Error{status.error()};
    }
    return request;
}

nlohmann::json fault_to_json(const FaultRequest& request) {
    nlohmann::json out = nlohmann::json::object();
    for (const auto& p : kProbabilities) out[std::string(p.word)] = request.settings.*p.member;
    out["delay_ns"] = static_cast<std::uint64_t>(request.settings.delay.ps / 1'000);
    out["seed"] = request.settings.seed;
    for (const auto& name : kDirections)
        if (name.direction == request.direction) out["direction"] = name.word;
    out["pfc_storm"] = list_of(request.pfc_storm);
    out["pfc_storm_tx"] = list_of(request.pfc_storm_tx);
    return out;
}

}  // namespace vroce

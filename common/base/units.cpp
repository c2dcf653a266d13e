#include "common/base/units.hpp"

#include <array>
#include <charconv>
#include <limits>
#include <span>
#include <utility>

namespace vroce {

namespace {

struct Unit {
    std::string_view name;
    std::uint64_t factor;
};

Result<std::uint64_t> parse_with_units(std::string_view text, std::span<const Unit> units, std::string_view allowed) {
    const auto refuse = [&] { return Error{"'" + std::string(text) + "' is not " + std::string(allowed)}; };
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end == text.data()) return refuse();
    const std::string_view suffix(end, static_cast<std::size_t>(text.data() + text.size() - end));
    for (const Unit& unit : units) {
        if (suffix != unit.name) continue;
        if (number > std::numeric_limits<std::uint64_t>::max() / unit.factor) return refuse();
        return number * unit.factor;
    }
    if (number == 0 && suffix.empty()) return std::uint64_t{0};
    return refuse();
}

}  // namespace

Result<std::uint64_t> parse_rate_bps(std::string_view text) {
    static constexpr std::array<Unit, 4> kUnits{{{"", 1}, {"K", 1'000}, {"M", 1'000'000}, {"G", 1'000'000'000}}};
    return parse_with_units(text, kUnits, "a rate such as 10G, 2500M or a number of bits per second");
}

Result<Duration> parse_duration(std::string_view text) {
    static constexpr std::array<Unit, 4> kUnits{
        {{"ns", 1'000}, {"us", 1'000'000}, {"ms", 1'000'000'000}, {"s", 1'000'000'000'000}}};
    constexpr std::string_view kAllowed = "a time such as 50us, 5ms or 1s";
    const auto ps = parse_with_units(text, kUnits, kAllowed);
    if (!ps) return Error{ps.error()};
    if (*ps > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        return Error{"'" + std::string(text) + "' is not " + std::string(kAllowed)};
    return picoseconds(static_cast<std::int64_t>(*ps));
}

Result<std::uint64_t> parse_bytes(std::string_view text) {
    static constexpr std::array<Unit, 4> kUnits{{{"", 1}, {"KiB", 1u << 10}, {"MiB", 1u << 20}, {"GiB", 1u << 30}}};
    return parse_with_units(text, kUnits, "a size such as 4096, 64KiB or 4MiB");
}

Result<std::uint64_t> parse_u64(std::string_view text) {
    static constexpr std::array<Unit, 1> kUnits{{{"", 1}}};
    return parse_with_units(text, kUnits, "a whole number");
}

Result<double> parse_probability(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || !(value >= 0 && value <= 1))
        return Error{"'" + std::string(text) + "' is not a probability from 0 to 1"};
    return value;
}

std::string format_rate(std::uint64_t bps) {
    static constexpr std::array<Unit, 3> kUnits{{{"G", 1'000'000'000}, {"M", 1'000'000}, {"K", 1'000}}};
    for (const Unit& unit : kUnits)
        if (bps != 0 && bps % unit.factor == 0) return std::to_string(bps / unit.factor) + std::string(unit.name);
    return std::to_string(bps);
}

}  // namespace vroce

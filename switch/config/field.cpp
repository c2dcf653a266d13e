// Field readers.
#include "switch/config/field.hpp"

#include <algorithm>
#include <charconv>

namespace vroce::sw {
namespace {

bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

}  // namespace

bool parse_number(const std::string& text, std::uint64_t& value) {
    if (text.empty() || !is_digit(text.front())) return false;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    return problem == std::errc{} && end == text.data() + text.size();
}

bool is_name(const std::string& text) {
    const auto allowed = [](char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '-' || c == '.'; };
    return !text.empty() && text.size() <= 32 && is_letter(text.front()) &&
           std::all_of(text.begin(), text.end(), allowed);
}

FieldSetter number(std::uint64_t& target, std::uint64_t low, std::uint64_t high, std::string unit) {
    return [&target, low, high, unit = std::move(unit)](const FieldPlace& place) -> Status {
        std::uint64_t value = 0;
        if (!place.field.scalar || !parse_number(place.field.text, value) || value < low || value > high) {
            return place.refuse(fmt::format("{}..{}{}", low, high, unit));
        }
        target = value;
        return Done{};
    };
}

FieldSetter text(std::string& target) {
    return [&target](const FieldPlace& place) -> Status {
        if (!place.field.scalar || place.field.text.empty()) return place.refuse("text");
        target = place.field.text;
        return Done{};
    };
}

}  // namespace vroce::sw

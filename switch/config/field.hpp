// Readers for single fields of a configuration: number in a range, word of a list, text. Each refuses in one line that
// names the place, the value and what is allowed.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/base/result.hpp"
#include "switch/config/document.hpp"

namespace vroce::sw {

struct FieldPlace {
    const std::string& file;
    const std::string& table;
    const std::string& key;
    const ConfigField& field;

    Error refuse(const std::string& allowed) const {
        return Error{
            fmt::format("{}: {}|{}: {} \"{}\"; allowed: {}", file, table, key, field.name, field.text, allowed)};
    }
};

using FieldSetter = std::function<Status(const FieldPlace&)>;

/// Decimal digits only; false when it is something else or does not fit.
bool parse_number(const std::string& text, std::uint64_t& value);

inline constexpr const char* kNameRule = "a letter, then up to 31 letters, digits, '_', '-' or '.'";
/// A name that is also safe as part of a path.
bool is_name(const std::string& text);

FieldSetter number(std::uint64_t& target, std::uint64_t low, std::uint64_t high, std::string unit);
FieldSetter text(std::string& target);

/// The target takes the value that stands beside the field's word.
template <typename Target>
FieldSetter choice(Target& target, std::vector<std::pair<std::string, std::type_identity_t<Target>>> words) {
    return [&target, words = std::move(words)](const FieldPlace& place) -> Status {
        std::string allowed;
        for (const auto& [word, value] : words) {
            if (place.field.scalar && place.field.text == word) {
                target = value;
                return Done{};
            }
            allowed += (allowed.empty() ? "" : ", ") + word;
        }
        return place.refuse(allowed);
    };
}

}  // namespace vroce::sw

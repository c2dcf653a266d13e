// Named counters: an enum of reasons, a label for each, one number for each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace vroce {

/// The table of labels for E, in the order of its enumerators; one too few or too many does not compile.
template <typename E, typename... Labels>
consteval auto make_labels(Labels... labels) {
    static_assert(sizeof...(Labels) == static_cast<std::size_t>(E::Count), "one label for each enumerator");
    return std::array<std::string_view, sizeof...(Labels)>{std::string_view(labels)...};
}

/// E: an enum class whose last enumerator is `Count`, with `std::string_view label(E)` found by argument-dependent
/// lookup. Written by one thread; readers of other threads may see a value that is one burst old.
template <typename E>
class CounterSet {
public:
    static constexpr std::size_t kCount = static_cast<std::size_t>(E::Count);

    void add(E which, std::uint64_t n = 1) { values_[static_cast<std::size_t>(which)] += n; }
    [[nodiscard]] std::uint64_t operator[](E which) const { return values_[static_cast<std::size_t>(which)]; }
    [[nodiscard]] std::uint64_t total() const {
        std::uint64_t sum = 0;
        for (const std::uint64_t value : values_) sum += value;
        return sum;
    }
    template <typename F>
    void for_each(F&& visit) const {
        for (std::size_t i = 0; i < kCount; ++i) visit(label(static_cast<E>(i)), values_[i]);
    }

private:
    std::array<std::uint64_t, kCount> values_{};
};

}  // namespace vroce

// Objects of one context by handle. A handle carries a generation, so that one of a destroyed object is never taken for
// a new object in its place.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace vroce::nic {

template <typename T>
class HandleTable {
public:
    static constexpr std::uint32_t kNone = UINT32_MAX;

    std::uint32_t insert(std::unique_ptr<T> object) {
        std::uint32_t index = 0;
        if (free_.empty()) {
            index = static_cast<std::uint32_t>(slots_.size());
            slots_.emplace_back();
        } else {
            index = free_.back();
            free_.pop_back();
        }
        slots_[index].object = std::move(object);
        ++size_;
        return index | slots_[index].generation << kIndexBits;
    }
    [[nodiscard]] T* find(std::uint32_t handle) const {
        const std::uint32_t index = handle & kIndexMask;
        if (index >= slots_.size() || slots_[index].generation != handle >> kIndexBits) return nullptr;
        return slots_[index].object.get();
    }
    std::unique_ptr<T> erase(std::uint32_t handle) {
        if (find(handle) == nullptr) return nullptr;
        const std::uint32_t index = handle & kIndexMask;
        slots_[index].generation = (slots_[index].generation + 1) & kGenerationMask;
        free_.push_back(index);
        --size_;
        return std::move(slots_[index].object);
    }
    /// Takes some object out, nullptr when there is none: for the end of the whole table, after which old handles mean
    /// nothing.
    std::unique_ptr<T> take_any() {
        while (!slots_.empty() && slots_.back().object == nullptr) slots_.pop_back();
        if (slots_.empty()) return nullptr;
        --size_;
        return std::move(slots_.back().object);
    }
    template <typename F>
    void for_each(F&& visit) const {
        for (std::uint32_t index = 0; index < slots_.size(); ++index)
            if (slots_[index].object != nullptr)
                visit(index | slots_[index].generation << kIndexBits, *slots_[index].object);
    }
    [[nodiscard]] std::size_t size() const { return size_; }

private:
    static constexpr unsigned kIndexBits = 20;
    static constexpr std::uint32_t kIndexMask = (1u << kIndexBits) - 1;
    static constexpr std::uint32_t kGenerationMask = (1u << 11) - 1;  // kNone is never a handle

    struct Slot {
        std::unique_ptr<T> object;
        std::uint32_t generation = 0;
    };
    std::vector<Slot> slots_;
    std::vector<std::uint32_t> free_;
    std::size_t size_ = 0;
};

}  // namespace vroce::nic

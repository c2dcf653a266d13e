// Objects of one kind in chunks that never move, with a free list: nothing is allocated once the working set is
// reached.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace vroce::nic {

/// T has a member `T* next`, which is the slab's while the object is free.
template <typename T>
class Slab {
public:
    T* take() {
        if (free_ == nullptr) grow();
        T* object = free_;
        free_ = object->next;
        *object = T{};
        ++in_use_;
        return object;
    }
    void put(T* object) {
        object->next = free_;
        free_ = object;
        --in_use_;
    }
    [[nodiscard]] std::size_t in_use() const { return in_use_; }

private:
    static constexpr std::size_t kChunk = 256;

    void grow() {
        chunks_.push_back(std::make_unique<T[]>(kChunk));
        for (std::size_t i = kChunk; i-- > 0;) {
            chunks_.back()[i].next = free_;
            free_ = &chunks_.back()[i];
        }
    }

    std::vector<std::unique_ptr<T[]>> chunks_;
    T* free_ = nullptr;
    std::size_t in_use_ = 0;
};

}  // namespace vroce::nic

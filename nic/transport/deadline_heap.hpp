// The deadlines of all queue pairs, the earliest in front: a binary heap whose entries know their own place, so that a
// deadline moves in O(log n) and is always exact (a wheel would round it; retry intervals are tested to the
// picosecond).
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/base/time.hpp"

namespace vroce::nic {

template <typename T>
class DeadlineHeap {
public:
    /// A part of each T; `at` is kNever while it is not in the heap.
    struct Entry {
        explicit Entry(T& of) : owner(&of) {}
        T* owner;
        Instant at = kNever;
        std::uint32_t place = 0;
    };

    void set(Entry& entry, Instant at) {
        if (entry.at == at) return;
        const bool was_in = entry.at != kNever;
        entry.at = at;
        if (at == kNever) {
            remove(entry);
        } else if (!was_in) {
            entries_.push_back(&entry);
            up(entries_.size() - 1);
        } else {
            up(entry.place);
            down(entry.place);
        }
    }
    [[nodiscard]] Instant next() const { return entries_.empty() ? kNever : entries_.front()->at; }
    /// Whose deadline is the earliest; precondition: next() is not kNever.
    [[nodiscard]] T& earliest() const { return *entries_.front()->owner; }
    [[nodiscard]] std::size_t size() const { return entries_.size(); }

private:
    void remove(Entry& entry) {
        const std::size_t hole = entry.place;
        Entry* last = entries_.back();
        entries_.pop_back();
        if (hole == entries_.size()) return;
        entries_[hole] = last;
        last->place = static_cast<std::uint32_t>(hole);
        up(hole);
        down(last->place);
    }
    void up(std::size_t i) {
        Entry* entry = entries_[i];
        for (; i > 0 && entry->at < entries_[(i - 1) / 2]->at; i = (i - 1) / 2) put(i, entries_[(i - 1) / 2]);
        put(i, entry);
    }
    void down(std::size_t i) {
        Entry* entry = entries_[i];
        for (std::size_t child; (child = 2 * i + 1) < entries_.size(); i = child) {
            if (child + 1 < entries_.size() && entries_[child + 1]->at < entries_[child]->at) ++child;
            if (entry->at <= entries_[child]->at) break;
            put(i, entries_[child]);
        }
        put(i, entry);
    }
    void put(std::size_t i, Entry* entry) {
        entries_[i] = entry;
        entry->place = static_cast<std::uint32_t>(i);
    }

    std::vector<Entry*> entries_;
};

}  // namespace vroce::nic

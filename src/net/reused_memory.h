// Batches are swapped back and forth between threads, so that their memory is used again and again.
#pragma once

#include <cstddef>
#include <vector>

namespace muster {

// Empties `items` and keeps its memory for the next round, unless a burst left it with much more than it needs.
template <class T>
void clear_for_reuse(std::vector<T>& items) {
    constexpr std::size_t always_kept_bytes = std::size_t{1} << 20;
    const bool oversized = items.capacity() * sizeof(T) > always_kept_bytes && items.size() < items.capacity() / 8;
    if (oversized) {
        std::vector<T>().swap(items);
    } else {
        items.clear();
    }
}

}  // namespace muster

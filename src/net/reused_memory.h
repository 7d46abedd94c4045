// Batches are swapped back and forth between threads, so that their memory is used again and again.
#pragma once

#include <cstddef>

namespace muster {

// Empties `items`, a vector or a ByteBuffer, and keeps its memory for the next round, unless a burst left it with much
// more than it needs.
template <class Items>
void clear_for_reuse(Items& items) {
    constexpr std::size_t always_kept_bytes = std::size_t{1} << 20;
    const std::size_t bytes = items.capacity() * sizeof(*items.data());
    const bool oversized = bytes > always_kept_bytes && items.size() < items.capacity() / 8;
    if (oversized) {
        Items().swap(items);
    } else {
        items.clear();
    }
}

}  // namespace muster

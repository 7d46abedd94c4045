// An array that only grows, and whose entries never move.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <memory>
#include <vector>

namespace muster::sim {

// As std::deque by its calls, and quicker by index: a shift and a mask, whatever the size of an entry. Entries are made
// in blocks, so T has a default, and one that nobody has appended yet is made already. One thread.
template <class T>
class StableArray {
public:
    std::size_t size() const { return size_; }

    T& operator[](std::size_t index) { return (*blocks_[index / in_block])[index % in_block]; }
    const T& operator[](std::size_t index) const { return (*blocks_[index / in_block])[index % in_block]; }

    // The next entry, as its default made it.
    T& append() {
        if (size_ == blocks_.size() * in_block) blocks_.push_back(std::make_unique<Block>());
        return (*this)[size_++];
    }

private:
    // A power of two: of small entries a few kilobytes, of large ones eight.
    static constexpr std::size_t in_block = std::bit_floor(sizeof(T) < 512 ? 4096 / sizeof(T) : std::size_t{8});
    using Block = std::array<T, in_block>;

    std::vector<std::unique_ptr<Block>> blocks_;
    std::size_t size_ = 0;
};

}  // namespace muster::sim

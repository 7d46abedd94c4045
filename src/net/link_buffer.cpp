#include "net/link_buffer.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/check.h"

namespace muster {
namespace {

constexpr std::size_t capacity_least = 128;

}  // namespace

void LinkBuffer::append(std::span<const std::byte> more, BufferBudget& budget) {
    if (more.empty()) return;
    if (!block_ || more.size() > block_->capacity - block_->end) make_room(size() + more.size(), budget);
    std::memcpy(block_->bytes() + block_->end, more.data(), more.size());
    block_->end += static_cast<std::uint32_t>(more.size());
}

void LinkBuffer::consume(std::size_t count) {
    MUSTER_CHECK(count <= size(), "only what is there can be dropped");
    if (count == size()) return release();
    block_->begin += static_cast<std::uint32_t>(count);
}

void LinkBuffer::release() {
    if (!block_) return;
    block_->budget->give_back(block_->capacity);
    std::free(block_);
    block_ = nullptr;
}

void LinkBuffer::make_room(std::size_t wanted, BufferBudget& budget) {
    if (wanted > size_max) throw std::bad_alloc();
    // Moving to the front is enough where that frees half of the memory; for less, the same bytes would move too often.
    if (!block_ || wanted > block_->capacity / 2)
        return move_to(std::bit_ceil(std::max(wanted, capacity_least)), budget);
    std::memmove(block_->bytes(), block_->bytes() + block_->begin, size());
    block_->end -= block_->begin;
    block_->begin = 0;
}

void LinkBuffer::move_to(std::size_t capacity, BufferBudget& budget) {
    if (!budget.take(capacity)) throw std::bad_alloc();
    void* memory = std::malloc(sizeof(Block) + capacity);
    if (!memory) {
        budget.give_back(capacity);
        throw std::bad_alloc();
    }
    const std::span<const std::byte> kept = view();
    auto* block =
        new (memory) Block{&budget, static_cast<std::uint32_t>(capacity), 0, static_cast<std::uint32_t>(kept.size())};
    if (!kept.empty()) std::memcpy(block->bytes(), kept.data(), kept.size());
    release();
    block_ = block;
}

}  // namespace muster

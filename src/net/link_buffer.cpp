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

void LinkBuffer::append(std::span<const std::byte> more) {
    if (more.empty()) return;
    if (more.size() > capacity_ - end_) make_room(size() + more.size());
    std::memcpy(bytes_ + end_, more.data(), more.size());
    end_ += static_cast<std::uint32_t>(more.size());
}

void LinkBuffer::consume(std::size_t count) {
    MUSTER_CHECK(count <= size(), "only what is there can be dropped");
    begin_ += static_cast<std::uint32_t>(count);
    if (begin_ == end_) release();
}

void LinkBuffer::release() {
    if (!bytes_) return;
    std::free(bytes_);
    budget_->give_back(capacity_);
    bytes_ = nullptr;
    capacity_ = begin_ = end_ = 0;
}

void LinkBuffer::make_room(std::size_t wanted) {
    if (wanted > size_max) throw std::bad_alloc();
    // Moving to the front is enough where that frees half of the memory; for less, the same bytes would move too often.
    if (wanted > capacity_ / 2) return move_to(std::bit_ceil(std::max(wanted, capacity_least)));
    std::memmove(bytes_, bytes_ + begin_, size());
    end_ -= begin_;
    begin_ = 0;
}

void LinkBuffer::move_to(std::size_t capacity) {
    if (!budget_->take(capacity)) throw std::bad_alloc();
    auto* bytes = static_cast<std::byte*>(std::malloc(capacity));
    if (!bytes) {
        budget_->give_back(capacity);
        throw std::bad_alloc();
    }
    const std::size_t kept = size();
    if (kept > 0) std::memcpy(bytes, bytes_ + begin_, kept);
    release();
    bytes_ = bytes;
    capacity_ = static_cast<std::uint32_t>(capacity);
    end_ = static_cast<std::uint32_t>(kept);
}

}  // namespace muster

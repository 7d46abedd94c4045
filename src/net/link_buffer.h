// Bytes of one connection that wait: those of an unfinished frame, or those the peer has not taken yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "net/buffer_budget.h"

namespace muster {

// A queue of bytes, without memory while it is empty. What it holds is charged to the budget, which outlives it.
// One thread at a time.
class LinkBuffer {
public:
    static constexpr std::size_t size_max = std::size_t{1} << 31;

    explicit LinkBuffer(BufferBudget& budget) : budget_(&budget) {}
    LinkBuffer(LinkBuffer&& other) noexcept
        : budget_(other.budget_),
          bytes_(std::exchange(other.bytes_, nullptr)),
          capacity_(std::exchange(other.capacity_, 0)),
          begin_(std::exchange(other.begin_, 0)),
          end_(std::exchange(other.end_, 0)) {}
    LinkBuffer& operator=(LinkBuffer&&) = delete;
    ~LinkBuffer() { release(); }

    bool empty() const { return begin_ == end_; }
    std::size_t size() const { return std::size_t{end_} - begin_; }
    std::span<const std::byte> view() const { return {bytes_ + begin_, size()}; }

    // Throws std::bad_alloc, and changes nothing, when the budget or the machine has no memory left, or when it would
    // exceed `size_max`.
    void append(std::span<const std::byte> more);

    // Drops that many from the front.
    void consume(std::size_t count);

    // Empties it.
    void release();

private:
    void make_room(std::size_t size);
    void move_to(std::size_t capacity);

    BufferBudget* budget_;
    std::byte* bytes_ = nullptr;
    std::uint32_t capacity_ = 0;
    std::uint32_t begin_ = 0;
    std::uint32_t end_ = 0;
};

}  // namespace muster

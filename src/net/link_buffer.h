// Bytes of one connection that wait: those of an unfinished frame, or those the peer has not taken yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "net/buffer_budget.h"

namespace muster {

// A queue of bytes. While it is empty, as of nearly all links it is, it is one pointer. What it holds is charged to the
// budget that the bytes came with: the same one at each call, which outlives the buffer. One thread at a time.
class LinkBuffer {
public:
    static constexpr std::size_t size_max = std::size_t{1} << 31;

    LinkBuffer() = default;
    LinkBuffer(const LinkBuffer&) = delete;
    LinkBuffer& operator=(const LinkBuffer&) = delete;
    ~LinkBuffer() { release(); }

    bool empty() const { return !block_; }
    std::size_t size() const { return block_ ? std::size_t{block_->end} - block_->begin : 0; }
    std::span<const std::byte> view() const {
        return block_ ? std::span<const std::byte>(block_->bytes() + block_->begin, size())
                      : std::span<const std::byte>();
    }

    // Throws std::bad_alloc, and changes nothing, when the budget or the machine has no memory left, or when it would
    // exceed `size_max`.
    void append(std::span<const std::byte> more, BufferBudget& budget);

    // Drops that many from the front.
    void consume(std::size_t count);

    // Empties it.
    void release();

private:
    // The head of the memory; the bytes follow it.
    struct Block {
        BufferBudget* budget;
        std::uint32_t capacity;
        std::uint32_t begin;
        std::uint32_t end;

        std::byte* bytes() { return reinterpret_cast<std::byte*>(this + 1); }
    };

    void make_room(std::size_t wanted, BufferBudget& budget);
    void move_to(std::size_t capacity, BufferBudget& budget);

    Block* block_ = nullptr;  // none while it is empty
};

}  // namespace muster

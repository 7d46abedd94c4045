// A growing run of bytes for the paths that every frame takes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>

namespace muster {

// What std::vector<std::byte> would do, but growing fills nothing with zeros, and appending is one comparison and one
// memcpy: 12 instructions instead of 44, four times a heartbeat. One thread at a time.
class ByteBuffer {
public:
    ByteBuffer() = default;
    ByteBuffer(ByteBuffer&& other) noexcept { swap(other); }
    ByteBuffer& operator=(ByteBuffer&& other) noexcept {
        ByteBuffer(std::move(other)).swap(*this);
        return *this;
    }
    ~ByteBuffer() { delete[] bytes_; }

    std::size_t size() const { return size_; }
    std::size_t capacity() const { return capacity_; }
    bool empty() const { return size_ == 0; }
    std::byte* data() { return bytes_; }
    const std::byte* data() const { return bytes_; }
    std::span<const std::byte> view() const { return {bytes_, size_}; }

    // Makes room for `count` more at the end, and says where; the caller fills it. Throws std::bad_alloc, and then
    // nothing has changed.
    std::byte* extend(std::size_t count) {
        if (capacity_ - size_ < count) [[unlikely]]
            grow(count);
        std::byte* added = bytes_ + size_;
        size_ += count;
        return added;
    }
    void append(std::span<const std::byte> more) {
        std::byte* to = extend(more.size());
        if (!more.empty()) std::memcpy(to, more.data(), more.size());
    }
    // Takes the last `count` off again: what extend() gave and the caller did not fill.
    void take_back(std::size_t count) { size_ -= count; }
    // Keeps the memory.
    void clear() { size_ = 0; }
    void swap(ByteBuffer& other) noexcept {
        std::swap(bytes_, other.bytes_);
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
    }

private:
    [[gnu::noinline]] void grow(std::size_t count) {
        constexpr std::size_t least = 64;
        const std::size_t wanted = std::max(capacity_ < least ? least : 2 * capacity_, size_ + count);
        auto* const larger = new std::byte[wanted];  // not filled
        if (size_ != 0) std::memcpy(larger, bytes_, size_);
        delete[] bytes_;
        bytes_ = larger;
        capacity_ = wanted;
    }

    std::byte* bytes_ = nullptr;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
};

}  // namespace muster

// Counts the streams that an HTTP/2 peer opens, in the bytes that it sends.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace muster {

// One thread at a time. Judges nothing: bytes that are no HTTP/2 are for whoever serves them to refuse.
class StreamCount {
public:
    // How many HEADERS frames have their head complete with these bytes, which follow those of the call before.
    std::size_t take(std::string_view bytes) {
        std::size_t streams = 0;
        while (!bytes.empty()) {
            if (skip_ > 0) {
                const std::size_t skipped = std::min<std::size_t>(skip_, bytes.size());
                skip_ -= static_cast<std::uint32_t>(skipped);
                bytes.remove_prefix(skipped);
                continue;
            }
            head_[have_++] = static_cast<std::uint8_t>(bytes.front());
            bytes.remove_prefix(1);
            if (have_ < head_.size()) continue;
            have_ = 0;
            skip_ = std::uint32_t{head_[0]} << 16 | std::uint32_t{head_[1]} << 8 | head_[2];
            if (head_[3] == headers_frame) ++streams;
        }
        return streams;
    }

private:
    static constexpr std::uint8_t headers_frame = 1;
    static constexpr std::uint32_t preface_bytes = 24;

    std::uint32_t skip_ = preface_bytes;  // of the preface, then of each frame's payload
    std::array<std::uint8_t, 9> head_{};  // length, kind, flags, stream
    std::size_t have_ = 0;
};

}  // namespace muster

// Cuts a byte stream into frames, without copying.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "protocol/codec.h"
#include "protocol/port.h"
#include "protocol/wire_bytes.h"
#include "protocol/wire_error.h"

namespace muster {

// What the first bytes of a stream are.
struct FrameSplit {
    enum class Kind : std::uint8_t { need_more, frame, error };

    Kind kind = Kind::need_more;
    WireError error{};                     // of an error: bad_length or too_large; the stream has no next frame
    Code code = 0;                         // of a frame
    std::span<const std::byte> payload{};  // of a frame; points into the bytes that were given
    std::size_t size = 0;                  // bytes of the whole frame; of need_more, as far as they are known
};

// Pure. A length is judged as soon as its two bytes are there, so that nothing is ever buffered for a bad one
// (fault 24). `length_max` is the port's limit for the length field.
inline FrameSplit next_frame(std::span<const std::byte> bytes, ByteOrder order, std::uint16_t length_max) {
    const auto number_at = [&](std::size_t at) {
        return order == ByteOrder::little ? wire::get<ByteOrder::little, std::uint16_t>(bytes.data() + at)
                                          : wire::get<ByteOrder::big, std::uint16_t>(bytes.data() + at);
    };
    constexpr std::size_t length_size = sizeof(std::uint16_t);

    if (bytes.size() < length_size) return {.size = length_size};
    const std::uint16_t length = number_at(0);
    if (length < sizeof(Code)) return {.kind = FrameSplit::Kind::error, .error = WireError::bad_length};
    if (length > length_max) return {.kind = FrameSplit::Kind::error, .error = WireError::too_large};

    const std::size_t size = length_size + length;
    if (bytes.size() < size) return {.size = size};
    return {.kind = FrameSplit::Kind::frame,
            .code = number_at(length_size),
            .payload = bytes.subspan(frame_head_size, size - frame_head_size),
            .size = size};
}

}  // namespace muster

// Messages to bytes and back, by the message's own layout.
//
// Pure functions, any thread. A message without strings and lists becomes straight code: one check of the size, then
// loads and stores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/check.h"
#include "base/result.h"
#include "protocol/extent.h"
#include "protocol/message.h"
#include "protocol/port.h"
#include "protocol/wire_error.h"
#include "protocol/wire_reader.h"
#include "protocol/wire_writer.h"

namespace muster {

// `payload` is a frame's, without length and code. The whole of it must be the message.
template <Message M>
[[nodiscard]] Result<M, WireError> decode(std::span<const std::byte> payload, ByteOrder order);

// Bytes of the whole frame: length, code, payload.
template <Message M>
std::size_t encoded_size(const M& message);

// Appends the whole frame. Our own messages fit their limits; one that does not is our bug and ends the process.
template <Message M>
void encode(const M& message, ByteOrder order, std::vector<std::byte>& out);

// The same into `frame`, which is of encoded_size().
template <Message M>
void encode_to(const M& message, ByteOrder order, std::span<std::byte> frame);

// Appends a frame with one of the game's own codes (see is_game_code) and any payload of at most payload_size_max.
void encode_raw(Code code, std::span<const std::byte> payload, ByteOrder order, std::vector<std::byte>& out);

// Bytes of a part of a message: how many entries still fit a frame can be known before it is built.
template <class Part>
std::size_t payload_size(const Part& part) {
    if constexpr (is_fixed_size<Part>()) {
        return extent<Part>().least;
    } else {
        wire::SizeSum sum;
        Part::layout(part, sum);
        return sum.bytes();
    }
}

inline constexpr std::size_t frame_head_size = sizeof(std::uint16_t) + sizeof(Code);

template <Message M>
std::size_t encoded_size(const M& message) {
    return frame_head_size + payload_size(message);
}

namespace wire {

template <Message M, ByteOrder Order>
Result<M, WireError> decode_in(std::span<const std::byte> payload) {
    constexpr bool fixed = is_fixed_size<M>();
    if constexpr (fixed) {
        constexpr std::size_t size = extent<M>().least;
        if (payload.size() < size) return Failure(WireError::truncated);
        if (payload.size() > size) return Failure(WireError::trailing_bytes);
    }
    Reader<Order, fixed ? Bounds::checked_before : Bounds::each_field> reader(payload);
    Result<M, WireError> message;
    M::layout(*message, reader);
    if (const auto fault = reader.finish()) return Failure(*fault);
    return message;
}

template <ByteOrder Order>
std::byte* write_head(Code code, std::size_t frame_size, std::byte* to) {
    to = put<Order>(static_cast<std::uint16_t>(frame_size - sizeof(std::uint16_t)), to);
    return put<Order>(code, to);
}

inline void check_fits(std::size_t frame_size) {
    MUSTER_CHECK(frame_size <= sizeof(std::uint16_t) + frame_length_max, "our own messages fit a frame");
}

// Makes room for a frame at the end of `out`, and says where.
inline std::byte* grow(std::vector<std::byte>& out, std::size_t frame_size) {
    check_fits(frame_size);
    const std::size_t before = out.size();
    out.resize(before + frame_size);
    return out.data() + before;
}

template <ByteOrder Order, Message M>
void encode_in(const M& message, std::span<std::byte> frame) {
    Writer<Order> writer(write_head<Order>(M::code, frame.size(), frame.data()));
    M::layout(message, writer);
}

}  // namespace wire

template <Message M>
Result<M, WireError> decode(std::span<const std::byte> payload, ByteOrder order) {
    return order == ByteOrder::little ? wire::decode_in<M, ByteOrder::little>(payload)
                                      : wire::decode_in<M, ByteOrder::big>(payload);
}

template <Message M>
void encode_to(const M& message, ByteOrder order, std::span<std::byte> frame) {
    wire::check_fits(frame.size());
    if (order == ByteOrder::little) {
        wire::encode_in<ByteOrder::little>(message, frame);
    } else {
        wire::encode_in<ByteOrder::big>(message, frame);
    }
}

template <Message M>
void encode(const M& message, ByteOrder order, std::vector<std::byte>& out) {
    const std::size_t size = encoded_size(message);
    encode_to(message, order, {wire::grow(out, size), size});
}

}  // namespace muster

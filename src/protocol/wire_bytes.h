// Numbers as bytes in either order.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "protocol/field_types.h"
#include "protocol/port.h"

namespace muster::wire {

// The unsigned number that carries N's bits.
template <WireNumber N>
using Bits = std::conditional_t<sizeof(N) == 1, std::uint8_t,
                                std::conditional_t<sizeof(N) == 2, std::uint16_t,
                                                   std::conditional_t<sizeof(N) == 4, std::uint32_t, std::uint64_t>>>;

// From the machine's byte order to `Order`, and back.
template <ByteOrder Order, std::unsigned_integral U>
constexpr U ordered(U bits) {
    constexpr bool same = (Order == ByteOrder::little) == (std::endian::native == std::endian::little);
    if constexpr (same || sizeof(U) == 1) return bits;
    if constexpr (sizeof(U) == 2) return __builtin_bswap16(bits);
    if constexpr (sizeof(U) == 4) return __builtin_bswap32(bits);
    if constexpr (sizeof(U) == 8) return __builtin_bswap64(bits);
}

// Writes sizeof(N) bytes and returns the place after them.
template <ByteOrder Order, WireNumber N>
std::byte* put(N number, std::byte* to) {
    const auto bits = ordered<Order>(std::bit_cast<Bits<N>>(number));
    std::memcpy(to, &bits, sizeof bits);
    return to + sizeof bits;
}

// Reads sizeof(N) bytes. A float keeps its bits, those of a NaN too.
template <ByteOrder Order, WireNumber N>
N get(const std::byte* from) {
    Bits<N> bits{};
    std::memcpy(&bits, from, sizeof bits);
    return std::bit_cast<N>(ordered<Order>(bits));
}

}  // namespace muster::wire

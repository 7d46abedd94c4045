// Whole numbers in as few bytes as they need: seven bits a byte, the lowest first; the top bit says that more follow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace muster {

inline constexpr std::size_t varint_bytes_max = 10;  // 64 bits, seven in each

// How many bytes it took; there is room for the most.
inline std::size_t write_varint(char* to, std::uint64_t value) {
    std::size_t size = 0;
    for (; value >= 0x80; value >>= 7) to[size++] = static_cast<char>(value | 0x80);
    to[size++] = static_cast<char>(value);
    return size;
}

inline void put_varint(std::string& out, std::uint64_t value) {
    char bytes[varint_bytes_max];
    out.append(bytes, write_varint(bytes, value));
}

// Takes one from the front of `in`. False, and `in` spoilt, when it is cut short or too long.
inline bool take_varint(std::string_view& in, std::uint64_t& value) {
    value = 0;
    for (unsigned shift = 0; shift < 64 && !in.empty(); shift += 7) {
        const auto byte = static_cast<unsigned char>(in.front());
        in.remove_prefix(1);
        value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
        if (byte < 0x80) return true;
    }
    return false;
}

// Signed numbers around zero become small unsigned ones: 0, -1, 1, -2 … are 0, 1, 2, 3 …
constexpr std::uint64_t zigzag(std::int64_t value) {
    return (static_cast<std::uint64_t>(value) << 1) ^ (value < 0 ? ~std::uint64_t{0} : 0);
}
constexpr std::int64_t unzigzag(std::uint64_t value) {
    return static_cast<std::int64_t>((value >> 1) ^ (~(value & 1) + 1));
}

}  // namespace muster

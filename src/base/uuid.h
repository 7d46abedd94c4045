// Random UUIDs (version 4), as text.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "base/entropy.h"

namespace muster {

// Appends one, "f81d4fae-7dec-41d0-a765-00a0c91e6bf6": 122 random bits, which nobody guesses. Each match has one in its
// token: by fmt this took a sixth of what the game thread computes for a match.
inline void append_random_uuid(std::string& text, Entropy& entropy) {
    constexpr char digits[] = "0123456789abcdef";
    std::array<std::byte, 16> bytes{};
    entropy.fill(bytes);
    bytes[6] = (bytes[6] & std::byte{0x0f}) | std::byte{0x40};
    bytes[8] = (bytes[8] & std::byte{0x3f}) | std::byte{0x80};
    std::size_t at = text.size();
    text.append(36, '-');
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) ++at;
        text[at++] = digits[std::to_integer<unsigned>(bytes[i] >> 4)];
        text[at++] = digits[std::to_integer<unsigned>(bytes[i] & std::byte{0x0f})];
    }
}

inline std::string random_uuid(Entropy& entropy) {
    std::string text;
    append_random_uuid(text, entropy);
    return text;
}

}  // namespace muster

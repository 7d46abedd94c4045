#include "base/utf8.h"

#include <cstring>

namespace muster {

std::size_t utf8_sequence_length(std::string_view text) {
    if (text.empty()) return 0;
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const auto continues = [&](std::size_t i) { return i < text.size() && (byte(i) & 0xC0) == 0x80; };
    const unsigned char lead = byte(0);

    if (lead < 0x80) return 1;
    if (lead < 0xC2) return 0;  // a continuation byte, or the overlong C0 and C1
    if (lead < 0xE0) return continues(1) ? 2 : 0;
    if (lead < 0xF0) {
        if (!continues(1) || !continues(2)) return 0;
        if (lead == 0xE0 && byte(1) < 0xA0) return 0;   // overlong
        if (lead == 0xED && byte(1) >= 0xA0) return 0;  // surrogates
        return 3;
    }
    if (lead < 0xF5) {
        if (!continues(1) || !continues(2) || !continues(3)) return 0;
        if (lead == 0xF0 && byte(1) < 0x90) return 0;   // overlong
        if (lead == 0xF4 && byte(1) >= 0x90) return 0;  // above U+10FFFF
        return 4;
    }
    return 0;
}

std::uint32_t utf8_code_point(std::string_view sequence) {
    const auto byte = [&](std::size_t i) {
        return static_cast<std::uint32_t>(static_cast<unsigned char>(sequence[i]));
    };
    if (sequence.size() == 1) return byte(0);
    std::uint32_t value = byte(0) & (0xFFU >> (sequence.size() + 1));
    for (std::size_t i = 1; i < sequence.size(); ++i) value = (value << 6U) | (byte(i) & 0x3FU);
    return value;
}

bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        // Most text is ASCII: take eight such bytes at a time.
        if (text.size() >= sizeof(std::uint64_t)) {
            std::uint64_t word = 0;
            std::memcpy(&word, text.data(), sizeof word);
            if ((word & 0x8080808080808080) == 0) {
                text.remove_prefix(sizeof word);
                continue;
            }
        }
        const std::size_t length = utf8_sequence_length(text);
        if (length == 0) return false;
        text.remove_prefix(length);
    }
    return true;
}

}  // namespace muster

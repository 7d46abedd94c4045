#include "core/match_token.h"

#include <array>
#include <cstddef>

#include <fmt/format.h>

namespace muster {
namespace {

// A version 4 GUID as text.
std::string guid(Entropy& entropy) {
    std::array<std::byte, 16> bytes{};
    entropy.fill(bytes);
    bytes[6] = (bytes[6] & std::byte{0x0F}) | std::byte{0x40};
    bytes[8] = (bytes[8] & std::byte{0x3F}) | std::byte{0x80};
    std::string text;
    text.reserve(36);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
        fmt::format_to(std::back_inserter(text), "{:02x}", std::to_integer<unsigned>(bytes[i]));
    }
    return text;
}

}  // namespace

std::string make_match_token(Entropy& entropy, LobbyId lobby, UnixMs now) {
    return fmt::format("MATCH_{}_{}_{}", lobby.value, guid(entropy), now.value / 1000);
}

bool same_text(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    unsigned differing = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        differing |= static_cast<unsigned>(static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]));
    }
    return differing == 0;
}

}  // namespace muster

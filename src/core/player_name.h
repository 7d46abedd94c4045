// Which names a player can have (P-1).
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "base/utf8.h"
#include "protocol/text.h"

namespace muster {

// Text in UTF-8 without control characters that fits the wire, and is not empty.
inline bool is_player_name(std::string_view name) {
    const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
    // U+0080 … U+009F are control characters too: 0xC2 and then 0x80 … 0x9F.
    for (std::size_t i = 0; i + 1 < name.size(); ++i) {
        const auto second = static_cast<unsigned char>(name[i + 1]);
        if (name[i] == '\xC2' && second >= 0x80 && second <= 0x9F) return false;
    }
    return !name.empty() && name.size() <= NameText::size_max && is_utf8(name) &&
           std::none_of(name.begin(), name.end(), is_control);
}

}  // namespace muster

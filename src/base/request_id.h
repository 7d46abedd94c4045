// Names one request, in its answer, in the log and in the event history, so that what came of it can be found.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"

namespace muster {

inline constexpr std::size_t request_id_max = 64;

// A caller may bring an id of its own: visible ASCII characters, no quotes.
inline bool is_request_id(std::string_view text) {
    return !text.empty() && text.size() <= request_id_max &&
           std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f && c != '"' && c != '\\'; });
}

// Differs from those of earlier runs by the time, and from others of this run by the number.
inline std::string make_request_id(UnixMs now, std::uint64_t number) {
    std::array<char, 2 * 16 + 2> text;  // two numbers in hexadecimal digits, one perhaps with a sign
    char* const end = text.data() + text.size();
    char* at = std::to_chars(text.data(), end, now.value, 16).ptr;
    *at++ = '-';
    at = std::to_chars(at, end, number, 16).ptr;
    return {text.data(), at};
}

}  // namespace muster

// What can be wrong with bytes from a peer, each by its name (W-5).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace muster {

enum class WireError : std::uint8_t {
    bad_length,        // a length under 2: too short for a code
    too_large,         // a length over the port's limit
    truncated,         // the payload ends inside a field
    trailing_bytes,    // the payload goes on after its last field
    string_too_long,   // a string over its own limit
    invalid_utf8,      // a string that is not UTF-8
    bad_value,         // a flag other than 0 or 1, a negative count, an enum out of its range
    unknown_code,      // no message of this port
    wrong_direction,   // a message of this port that only the other side sends
    before_handshake,  // anything before the handshake or login
    second_handshake,  // a handshake or login after one succeeded
};

// "Malformed message: <kind>", the text that the peer is told.
constexpr std::string_view malformed_text(WireError kind) {
    switch (kind) {
        case WireError::bad_length:
            return "Malformed message: bad_length";
        case WireError::too_large:
            return "Malformed message: too_large";
        case WireError::truncated:
            return "Malformed message: truncated";
        case WireError::trailing_bytes:
            return "Malformed message: trailing_bytes";
        case WireError::string_too_long:
            return "Malformed message: string_too_long";
        case WireError::invalid_utf8:
            return "Malformed message: invalid_utf8";
        case WireError::bad_value:
            return "Malformed message: bad_value";
        case WireError::unknown_code:
            return "Malformed message: unknown_code";
        case WireError::wrong_direction:
            return "Malformed message: wrong_direction";
        case WireError::before_handshake:
            return "Malformed message: before_handshake";
        case WireError::second_handshake:
            return "Malformed message: second_handshake";
    }
    return "";
}

// The kind's name, as in the metric label.
constexpr std::string_view to_string(WireError kind) {
    return malformed_text(kind).substr(std::string_view("Malformed message: ").size());
}

inline constexpr std::array wire_errors{
    WireError::bad_length,      WireError::too_large,        WireError::truncated,       WireError::trailing_bytes,
    WireError::string_too_long, WireError::invalid_utf8,     WireError::bad_value,       WireError::unknown_code,
    WireError::wrong_direction, WireError::before_handshake, WireError::second_handshake};

}  // namespace muster

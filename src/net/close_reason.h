// Why a connection is no more, by the name that metrics show.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace muster {

enum class CloseReason : std::uint8_t {
    peer_closed,   // the peer ended it
    peer_reset,    // the peer, or the network between, broke it
    timed_out,     // TCP's keepalive or retransmission found nobody there
    asked,         // the loop asked for it
    slow_reader,   // it left too much unread (fault 26)
    buffers_full,  // no memory for its bytes (fault 8)
    shutdown,      // Muster ends
    revoked,       // its certificate was called back (S-2)
    tls,           // there is no TLS with it: see TlsFailure
    gave_way,      // it had proved nothing yet, and made room in a full port for another address (fault 75)
};
inline constexpr std::array close_reasons{CloseReason::peer_closed, CloseReason::peer_reset,  CloseReason::timed_out,
                                          CloseReason::asked,       CloseReason::slow_reader, CloseReason::buffers_full,
                                          CloseReason::shutdown,    CloseReason::revoked,     CloseReason::tls,
                                          CloseReason::gave_way};

constexpr std::string_view to_string(CloseReason reason) {
    switch (reason) {
        case CloseReason::peer_closed:
            return "peer_closed";
        case CloseReason::peer_reset:
            return "peer_reset";
        case CloseReason::timed_out:
            return "timed_out";
        case CloseReason::asked:
            return "asked";
        case CloseReason::slow_reader:
            return "slow_reader";
        case CloseReason::buffers_full:
            return "buffers_full";
        case CloseReason::shutdown:
            return "shutdown";
        case CloseReason::revoked:
            return "revoked";
        case CloseReason::tls:
            return "tls";
        case CloseReason::gave_way:
            return "gave_way";
    }
    return "";
}

}  // namespace muster

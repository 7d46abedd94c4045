// The answer to a frame that Muster does not take: the failure form of the message's own answer where there is one and
// its ids could be read, else the port's way to say no (W-6).
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "protocol/error_texts.h"
#include "protocol/port.h"
#include "protocol/wire_error.h"

namespace muster {

// As much as is known of the frame.
struct RefusedFrame {
    Port port{};
    ByteOrder order{};
    bool greeted = false;                  // the link's handshake or login has succeeded
    Code code = 0;                         // 0 when it was never read: bad_length, too_large
    std::span<const std::byte> payload{};  // as it came, however broken
};

// Appends one frame that says `text`, at most 256 bytes. The port's way, when there is no failure form to use:
// NET_CHAT_SV_ERROR, NET_CHAT_MGR_ERROR, MSG_SERVER_CLOSE; a failed MSG_LOGIN to a player who is not logged in.
void refusal_answer(const RefusedFrame& frame, std::string_view text, std::vector<std::byte>& out);

// The same with the text that belongs to the fault: "Malformed message: <kind>", or the port's words for a message
// before its handshake and for a second handshake. The link is closed after it.
void malformed_answer(const RefusedFrame& frame, WireError kind, std::vector<std::byte>& out);

// before_handshake: "Server not registered", "Chat Server not registered", "Not logged in".
Refusal before_handshake_refusal(Port port);
// second_handshake: "Server already registered", "Chat Server already registered", "Already logged in".
Refusal second_handshake_refusal(Port port);

}  // namespace muster

// Muster's "no" as it stands on the wire, and as the SDK's code for it.
#pragma once

#include <optional>
#include <string_view>

#include "muster/outcome.h"
#include "protocol/error_texts.h"

namespace muster::sdk {

// The refusal that a code stands for; nothing for a code of our own.
std::optional<Refusal> refusal_of(ErrorCode code);

ErrorCode code_of(Refusal refusal);

// What Muster refused with, by its words.
Outcome refused(std::string_view words);

// The same for a handshake, said to a person: who was refused ("game server 127.0.0.1:27015"), and what helps.
Outcome handshake_refused(std::string_view words, std::string_view who);

}  // namespace muster::sdk

// The text that lets a player into a match (K-1): MATCH_{lobby}_{guid}_{unix seconds}.
#pragma once

#include <string>
#include <string_view>

#include "base/entropy.h"
#include "base/ids.h"
#include "base/time.h"

namespace muster {

// A new token with 122 random bits. The stamp is for people; nothing ever reads it back.
std::string make_match_token(Entropy& entropy, LobbyId lobby, UnixMs now);

// Compares without telling by its time how much was right.
bool same_text(std::string_view a, std::string_view b);

}  // namespace muster

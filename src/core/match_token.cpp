#include "core/match_token.h"

#include <cstddef>

#include <fmt/format.h>

#include "base/uuid.h"

namespace muster {

std::string make_match_token(Entropy& entropy, LobbyId lobby, UnixMs now) {
    std::string token = "MATCH_";
    token.reserve(token.size() + 59);
    token += fmt::format_int(lobby.value).c_str();
    token += '_';
    token += random_uuid(entropy);
    token += '_';
    token += fmt::format_int(now.value / 1000).c_str();
    return token;
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

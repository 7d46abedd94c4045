#include "core/match_token.h"

#include <cstddef>
#include <cstdint>

#include <fmt/format.h>

#include "base/uuid.h"

namespace muster {
namespace {

void append_number(std::string& text, std::int64_t number) {
    const fmt::format_int digits(number);
    text.append(digits.data(), digits.size());
}

}  // namespace

std::string make_match_token(Entropy& entropy, LobbyId lobby, UnixMs now) {
    std::string token = "MATCH_";
    token.reserve(token.size() + 59);
    append_number(token, lobby.value);
    token += '_';
    append_random_uuid(token, entropy);
    token += '_';
    append_number(token, now.value / 1000);
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

// The numbers that name things, one type each: a lobby's can never be passed where an account's is wanted.
#pragma once

#include <compare>
#include <cstdint>

namespace muster::sdk {

template <class Tag, class Number>
struct Id {
    Number value{};

    constexpr Id() = default;
    constexpr explicit Id(Number number) : value(number) {}
    friend constexpr auto operator<=>(const Id&, const Id&) = default;
};

struct ServerIdTag;
struct LobbyIdTag;
struct AccountIdTag;
struct RegionIdTag;

using ServerId = Id<ServerIdTag, std::int32_t>;    // given by Muster at the handshake
using LobbyId = Id<LobbyIdTag, std::int32_t>;      // one match; chosen by the matchmaker, positive, used once
using AccountId = Id<AccountIdTag, std::int32_t>;  // a player
using RegionId = Id<RegionIdTag, std::int8_t>;     // as in Muster's config: 0 USE, 1 USW, 2 EU, 9 RU, 11 AU, 15 BR

}  // namespace muster::sdk

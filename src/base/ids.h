// Typed ids: a server's number can never be passed where a lobby's is wanted.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace muster {

// A number of one kind of thing. Tag makes the kind, Number what it is on the wire.
template <class Tag, class Number>
struct Id {
    using number_type = Number;
    Number value{};

    constexpr Id() = default;
    constexpr explicit Id(Number number) : value(number) {}
    friend constexpr auto operator<=>(const Id&, const Id&) = default;
};

using ServerId = Id<struct ServerTag, std::int32_t>;
using LobbyId = Id<struct LobbyTag, std::int32_t>;
using AccountId = Id<struct AccountTag, std::int32_t>;  // also a player's id
using RegionId = Id<struct RegionTag, std::int8_t>;
using MatchmakerNumber = Id<struct MatchmakerTag, std::int32_t>;  // of one that has a link
using SessionPlace = Id<struct SessionTag, std::uint32_t>;

// A connection: its slot in the owner's table, and which user of that slot it is. A slot is reused, the pair never.
struct ConnectionId {
    std::uint32_t slot = 0;
    std::uint32_t generation = 0;  // 0 names no connection
    friend constexpr auto operator<=>(const ConnectionId&, const ConnectionId&) = default;
};

}  // namespace muster

template <class Tag, class Number>
struct std::hash<muster::Id<Tag, Number>> {
    std::size_t operator()(const muster::Id<Tag, Number>& id) const noexcept { return std::hash<Number>{}(id.value); }
};

// What makes a struct a message, and lists of such structs.
#pragma once

#include <concepts>
#include <cstddef>
#include <string_view>

#include "protocol/port.h"

namespace muster {

// A message is declared once (W-4). Encoding, decoding, the JSON view and the reference all come from
//     static constexpr void layout(auto& self, auto& wire)
// which names its fields in the order of the wire: wire("server_id", self.server).
template <class M>
concept Message = std::default_initializable<M> && requires {
    { M::code } -> std::convertible_to<Code>;
    { M::name } -> std::convertible_to<std::string_view>;  // the name in the specification
    { M::port } -> std::convertible_to<Port>;
    { M::direction } -> std::convertible_to<Direction>;
    { M::about } -> std::convertible_to<std::string_view>;  // a sentence for the reference
};

template <class... M>
struct MessageList {
    static constexpr std::size_t size = sizeof...(M);

    // Calls visit.operator()<M>() for each message, in order.
    static constexpr void for_each(auto&& visit) { (visit.template operator()<M>(), ...); }
};

namespace wire {

template <class One, class Other>
struct Joined;
template <class... One, class... Other>
struct Joined<MessageList<One...>, MessageList<Other...>> {
    using List = MessageList<One..., Other...>;
};

}  // namespace wire

// The messages of one list, then those of the other.
template <class One, class Other>
using JoinedMessages = typename wire::Joined<One, Other>::List;

// An answer names what it answers: `using Answers = MessageList<ReadyForMatch>`. With a form `Refused` in it, that is
// how those requests are refused.
template <class M>
concept Answer = Message<M> && requires { typename M::Answers; };
template <class M>
concept RefusableAnswer = Answer<M> && requires { typename M::Refused; };

}  // namespace muster

// How often each address did something, minute by minute: so that it is told once a minute, whatever it does.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <utility>

#include "base/ip_address.h"
#include "base/time.h"

namespace muster {

// Game thread only. An address is an IPv4 address or the /64 network of an IPv6 one. Its minute begins with the first
// that it does.
class AddressMinutes {
public:
    static constexpr std::chrono::minutes window{1};
    // Remembered at most; beyond that the oldest is forgotten.
    static constexpr std::size_t addresses_max = 10'000;

    struct Counts {
        std::uint32_t now = 0;     // in this minute; 1 is the first
        std::uint32_t before = 0;  // in the minute before
    };
    // Counts one more.
    Counts add(Time now, const IpAddress& from);

    std::size_t addresses() const { return by_address_.size(); }

private:
    struct OfAddress {
        Time since{};  // when this minute began
        Counts counts;
    };

    void forget_old(Time now);

    std::unordered_map<IpAddress, OfAddress> by_address_;
    std::deque<std::pair<Time, IpAddress>> oldest_first_;  // when each minute of an address began
};

}  // namespace muster

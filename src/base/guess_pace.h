// Wrong secrets by address: which ones are logged, and how long each answer is delayed (S-4).
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "base/ip_address.h"
#include "base/time.h"

namespace muster {

// One thread only. It slows guessing down and locks nobody out: the right secret never comes here. IPv6 addresses
// count by their /64 network.
class GuessPace {
public:
    static constexpr std::chrono::minutes window{1};
    // From the limit on, answers to one address leave at least `pace` apart; none is delayed by more than `delay_max`.
    static constexpr std::chrono::seconds pace{1};
    static constexpr std::chrono::seconds delay_max{30};
    // Addresses that are remembered. While this many guess at once, others are delayed from their first guess on.
    static constexpr std::size_t addresses_max = 4096;

    struct Verdict {
        bool tell = false;            // log it: the first of this address in a minute
        std::uint64_t in_window = 0;  // wrong ones of this address, this one included; 0 when it is not remembered
        Duration delay{0};            // how long to hold back the answer
    };

    // Answers from the `slow_from`-th wrong secret in a minute on are delayed.
    explicit GuessPace(std::uint64_t slow_from = 10) : slow_from_(slow_from) {}
    void set_slow_from(std::uint64_t slow_from) { slow_from_ = slow_from; }

    // One more, at `now`, which never goes back.
    Verdict wrong(Time now, const IpAddress& from);

private:
    struct OfAddress {
        std::uint64_t wrong = 0;
        Time since{};
        Time next_answer{};
    };

    std::uint64_t slow_from_;
    std::unordered_map<IpAddress, OfAddress> by_network_;
};

}  // namespace muster

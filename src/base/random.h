// Seeded random numbers, passed in where they are needed: the same seed gives the same numbers on every machine.
// Not for secrets.
#pragma once

#include <cstdint>

#include "base/check.h"

namespace muster {

// xoshiro256**, seeded by splitmix64. Satisfies UniformRandomBitGenerator.
class Random {
public:
    using result_type = std::uint64_t;

    explicit Random(std::uint64_t seed) {
        for (std::uint64_t& word : state_) word = splitmix(seed);
    }

    static constexpr result_type min() { return 0; }
    static constexpr result_type max() { return ~result_type{0}; }
    result_type operator()() { return next(); }

    std::uint64_t next() {
        const std::uint64_t result = rotate(state_[1] * 5, 7) * 9;
        const std::uint64_t shifted = state_[1] << 17;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= shifted;
        state_[3] = rotate(state_[3], 45);
        return result;
    }

    // Uniform over 0 … limit − 1.
    std::uint64_t below(std::uint64_t limit) {
        MUSTER_CHECK(limit > 0, "an empty range has no number");
        // Numbers under `reject` would make the first remainders likelier than the rest.
        const std::uint64_t reject = (0 - limit) % limit;
        for (;;) {
            const std::uint64_t drawn = next();
            if (drawn >= reject) return drawn % limit;
        }
    }

    // Uniform over first … last, both included.
    std::int64_t between(std::int64_t first, std::int64_t last) {
        MUSTER_CHECK(first <= last, "an empty range has no number");
        const std::uint64_t span = static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first);
        const std::uint64_t step = span == max() ? next() : below(span + 1);
        return static_cast<std::int64_t>(static_cast<std::uint64_t>(first) + step);
    }

    // In [0, 1).
    double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
    bool chance(double probability) { return unit() < probability; }

private:
    static constexpr std::uint64_t rotate(std::uint64_t x, int by) { return (x << by) | (x >> (64 - by)); }
    static std::uint64_t splitmix(std::uint64_t& seed) {
        std::uint64_t z = (seed += 0x9e3779b97f4a7c15);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }

    std::uint64_t state_[4] = {};
};

}  // namespace muster

#include "base/entropy.h"

#include <algorithm>
#include <array>

#include <doctest/doctest.h>

TEST_CASE("K-1: the system's entropy fills all it is given, differently each time") {
    muster::SystemEntropy entropy;
    std::array<std::byte, 1000> first{};
    std::array<std::byte, 1000> second{};
    entropy.fill(first);
    entropy.fill(second);
    CHECK(first != second);
    // Any byte value missing among 2,000 would be no surprise; a zero tail would.
    CHECK(std::any_of(first.end() - 16, first.end(), [](std::byte b) { return b != std::byte{0}; }));
    entropy.fill({});
}

namespace {

// Counts, and tells how often it was asked.
struct CountedEntropy final : muster::Entropy {
    void fill(std::span<std::byte> out) override {
        ++asked;
        for (std::byte& byte : out) byte = number(++last);
    }
    static std::byte number(unsigned of) { return static_cast<std::byte>(of % 251); }
    int asked = 0;
    unsigned last = 0;
};

}  // namespace

TEST_CASE("K-1: pooled entropy gives each byte of its source once, in whatever portions it is asked for") {
    CountedEntropy source;
    muster::PooledEntropy entropy(source);
    std::array<std::byte, 16> token{};
    for (unsigned given = 0; given < muster::PooledEntropy::pool_bytes; given += 16) {
        entropy.fill(token);
        CHECK(token.front() == CountedEntropy::number(given + 1));
        CHECK(token.back() == CountedEntropy::number(given + 16));
    }
    CHECK(source.asked == 1);
    // What is left of a pool and too little for a caller goes to nobody.
    std::array<std::byte, 500> large{};
    entropy.fill(large);
    CHECK(source.asked == 2);
    CHECK(large.back() == CountedEntropy::number(512 + 500));
    entropy.fill(token);
    CHECK(source.asked == 3);
    CHECK(token.front() == CountedEntropy::number(2 * 512 + 1));
    std::array<std::byte, 513> larger{};
    entropy.fill(larger);
    CHECK(source.asked == 4);
    CHECK(larger.front() == CountedEntropy::number(3 * 512 + 1));
    entropy.fill({});
    CHECK(source.asked == 4);
}

#include "core/address_minutes.h"

#include <doctest/doctest.h>

using namespace muster;
using namespace std::chrono_literals;

namespace {

IpAddress address(std::uint32_t number) {
    const auto byte = [number](int shift) { return static_cast<std::uint8_t>(number >> shift); };
    return IpAddress::v4({11, byte(16), byte(8), byte(0)});
}

}  // namespace

TEST_CASE("S-4: what an address does is counted in minutes of its own, with the minute before") {
    AddressMinutes minutes;
    const Time start{};
    CHECK(minutes.add(start, address(1)).now == 1);
    CHECK(minutes.add(start + 59'999ms, address(1)).now == 2);
    CHECK(minutes.add(start + 59'999ms, address(2)).now == 1);
    const auto next = minutes.add(start + 1min, address(1));
    CHECK(next.now == 1);
    CHECK(next.before == 2);
    const auto later = minutes.add(start + 4min, address(1));
    CHECK(later.now == 1);
    CHECK(later.before == 0);
}

TEST_CASE("S-4: addresses are remembered for two minutes, and up to a bound") {
    AddressMinutes minutes;
    const Time start{};
    for (std::uint32_t i = 0; i < AddressMinutes::addresses_max + 10; ++i) minutes.add(start, address(i));
    CHECK(minutes.addresses() <= AddressMinutes::addresses_max);
    CHECK(minutes.add(start, address(0)).now == 1);  // forgotten
    minutes.add(start + 2min, address(1));
    CHECK(minutes.addresses() == 1);
}

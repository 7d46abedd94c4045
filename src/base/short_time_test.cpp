#include "base/short_time.h"

#include <doctest/doctest.h>

namespace muster {
namespace {

using namespace std::chrono_literals;

TEST_CASE("T-3: a short time is never earlier than the moment, and less than a millisecond later") {
    for (const Duration since :
         {Duration(0), Duration(1), Duration(999'999), Duration(1'000'000), Duration(71h + 5ns)}) {
        const Time moment(since);
        const Time kept = ShortTime(moment).seen_from(moment + 1s);
        CHECK(kept >= moment);
        CHECK(kept - moment < 1ms);
    }
}

TEST_CASE("P-10: a short time means the same from forty days later and from a week before, wherever it wraps round") {
    for (const Duration since : {Duration(100 * 24h), Duration(std::chrono::milliseconds(1LL << 32)),
                                 Duration(std::chrono::milliseconds((1LL << 32) - 1)), Duration(1000 * 24h)}) {
        const Time moment(since);
        const ShortTime kept(moment);
        CHECK(kept.seen_from(moment) == moment);
        CHECK(kept.seen_from(moment + 40 * 24h) == moment);
        CHECK(kept.seen_from(moment - 7 * 24h) == moment);
    }
}

}  // namespace
}  // namespace muster

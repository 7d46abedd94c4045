#include "net/message_rate.h"

#include <doctest/doctest.h>

using namespace muster;
using namespace std::chrono_literals;

namespace {

constexpr Time start{1h};

int takes(MessageRate& rate, Duration cost) {
    int taken = 0;
    while (taken < 100'000 && rate.take(cost)) ++taken;
    return taken;
}

}  // namespace

TEST_CASE("W-7: a connection may send one second's worth at once and no more") {
    MessageRate rate(start, 0s);
    const Duration cost = MessageRate::cost_at(200);
    CHECK(takes(rate, cost) == 200);
    rate.refill(start + 4'999us, 0s);
    CHECK_FALSE(rate.take(cost));
    rate.refill(start + 5ms, 0s);
    CHECK(takes(rate, cost) == 1);
    rate.refill(start + 1h, 0s);
    CHECK(takes(rate, cost) == 200);
}

TEST_CASE("W-7: a rate of zero sets no limit") {
    MessageRate rate(start, 0s);
    CHECK(takes(rate, MessageRate::cost_at(0)) == 100'000);
}

TEST_CASE("W-7: a changed rate holds from the next message on") {
    MessageRate rate(start, 0s);
    CHECK(takes(rate, MessageRate::cost_at(10)) == 10);
    rate.refill(start + 1s, 0s);
    CHECK(takes(rate, MessageRate::cost_at(1'000)) == 1'000);
}

TEST_CASE("L-8: what piled up while nobody read is not held against the peer") {
    MessageRate rate(start, 5s);
    const Duration cost = MessageRate::cost_at(100);
    CHECK(takes(rate, cost) == 100);
    SUBCASE("30 s unread are worth 30 s of messages") {
        rate.refill(start, 35s);
        CHECK(takes(rate, cost) == 3'000);
    }
    SUBCASE("the extra credit ends when the peer has caught up") {
        rate.refill(start, 35s);
        CHECK(rate.take(cost));
        rate.caught_up();
        CHECK(takes(rate, cost) == 100);
    }
}

TEST_CASE("W-7: a throttled link waits for a tenth of a second's credit, or for one message") {
    MessageRate rate(start, 0s);
    const Duration cost = MessageRate::cost_at(200);
    CHECK(rate.until_refilled(cost) == 0s);
    takes(rate, cost);
    CHECK(rate.until_refilled(cost) == 100ms);
    MessageRate slow(start, 0s);
    takes(slow, MessageRate::cost_at(2));
    CHECK(slow.until_refilled(MessageRate::cost_at(2)) == 500ms);
}

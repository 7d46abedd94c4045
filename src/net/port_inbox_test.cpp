#include "net/port_inbox.h"

#include <string>
#include <string_view>

#include <doctest/doctest.h>

using namespace muster;

namespace {

constexpr Time now{std::chrono::hours(1)};
constexpr ConnectionId a_link{3, 1};

std::span<const std::byte> payload(std::string_view text) {
    return std::as_bytes(std::span(text));
}

std::string text_of(const InboundBatch& batch, std::size_t index) {
    const auto bytes = batch.payload(batch[index]);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

TEST_CASE("B-1: batches arrive whole and in order, each frame with its bytes") {
    PortInbox inbox(Port::servers, {}, [] {});
    InboundBatch batch;
    CHECK_FALSE(inbox.take(batch));

    InboundBatch turn;
    turn.add_opened(a_link, now, *IpAddress::parse("2001:db8::1"));
    turn.add_frame(a_link, now, 1, payload("one"), 250);
    CHECK(inbox.publish(turn));
    CHECK(turn.empty());
    turn.add_frame(a_link, now, 2, payload(""), 0);
    turn.add_frame(a_link, now, 3, payload("three"), 0);
    turn.add(InboundKind::closed, a_link, now, static_cast<std::uint8_t>(CloseReason::peer_reset));
    CHECK(inbox.publish(turn));
    CHECK(inbox.size() == 5);

    REQUIRE(inbox.take(batch));
    REQUIRE(batch.size() == 5);
    CHECK(batch.address(batch[0]) == *IpAddress::parse("2001:db8::1"));
    CHECK(text_of(batch, 1) == "one");
    CHECK(batch[1].rtt_us == 250);
    CHECK(text_of(batch, 2).empty());
    CHECK(text_of(batch, 3) == "three");
    CHECK(batch[3].code == 3);
    CHECK(batch[4].reason() == CloseReason::peer_reset);
    CHECK(inbox.size() == 0);
}

TEST_CASE("B-1: a full inbox says so, takes what comes all the same, and calls when there is room") {
    int calls = 0;
    PortInbox inbox(Port::servers, {.items = 2, .bytes = 1'000}, [&] { ++calls; });
    InboundBatch turn;
    turn.add_frame(a_link, now, 1, payload("a"), 0);
    CHECK(inbox.has_room(turn));
    CHECK(inbox.publish(turn));
    turn.add_frame(a_link, now, 2, payload("b"), 0);
    CHECK_FALSE(inbox.has_room(turn));
    CHECK_FALSE(inbox.publish(turn));
    turn.add(InboundKind::closed, a_link, now);
    CHECK_FALSE(inbox.publish(turn));
    CHECK(calls == 0);

    InboundBatch batch;
    CHECK(inbox.take(batch));
    CHECK(batch.size() == 3);
    CHECK(calls == 1);
    batch.clear();
    CHECK_FALSE(inbox.take(batch));
    CHECK(calls == 1);
    CHECK(inbox.has_room(turn));
}

TEST_CASE("invariant 18: an inbox is full by its bytes too") {
    PortInbox inbox(Port::servers, {.items = 100, .bytes = 10}, [] {});
    InboundBatch turn;
    turn.add_frame(a_link, now, 1, payload("123456789"), 0);
    CHECK(inbox.publish(turn));
    turn.add_frame(a_link, now, 1, payload("0"), 0);
    CHECK_FALSE(inbox.publish(turn));
}

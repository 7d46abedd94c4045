#include "protocol/dispatch.h"

#include <algorithm>
#include <string_view>

#include <doctest/doctest.h>

#include "protocol/sample_frames.h"

using namespace muster;

namespace {

template <Message M>
Bytes payload_of(const M& message, ByteOrder order) {
    Bytes frame;
    encode(message, order, frame);
    frame.erase(frame.begin(), frame.begin() + frame_head_size);
    return frame;
}

// Takes any message and remembers it.
struct AnyMessage {
    std::string_view visited;
    Direction direction{};
    Bytes payload;

    template <Message M>
    void operator()(const M& message) {
        visited = M::name;
        direction = M::direction;
        payload = payload_of(message, ByteOrder::little);
    }
    void operator()(const GameMessage& message) {
        visited = "game";
        payload.assign(message.payload.begin(), message.payload.end());
    }
};

Result<void, WireError> visit(const SampleFrame& sample, Direction from, AnyMessage& visitor) {
    if (from == Direction::in) return visit_inbound(sample.port, sample.order, sample.code, sample.payload(), visitor);
    switch (sample.port) {
        case Port::servers:
            return visit_outbound<Port::servers>(sample.order, sample.code, sample.payload(), visitor);
        case Port::matchmakers:
            return visit_outbound<Port::matchmakers>(sample.order, sample.code, sample.payload(), visitor);
        case Port::players:
            break;
    }
    return visit_outbound<Port::players>(sample.order, sample.code, sample.payload(), visitor);
}

}  // namespace

TEST_CASE("W-4, W-5: every message reaches its handler by its code") {
    for (const SampleFrame& sample : sample_frames()) {
        CAPTURE(sample.name);
        if (sample.order != ByteOrder::little) continue;
        AnyMessage visitor;
        REQUIRE(visit(sample, sample.direction, visitor));
        REQUIRE(visitor.visited == sample.name);
        REQUIRE(visitor.direction == sample.direction);
        REQUIRE(std::ranges::equal(visitor.payload, sample.payload()));
    }
}

TEST_CASE("W-5, fault 40: from the other side a message reaches nobody, unless that side has one of its code") {
    for (const SampleFrame& sample : sample_frames()) {
        CAPTURE(sample.name);
        const Direction other = sample.direction == Direction::in ? Direction::out : Direction::in;
        AnyMessage visitor;
        const auto done = visit(sample, other, visitor);
        if (classify(sample.port, other, sample.code) == CodeClass::known) {
            REQUIRE(done.has_value() == !visitor.visited.empty());
        } else {
            REQUIRE_FALSE(done);
            REQUIRE(done.error() == WireError::wrong_direction);
            REQUIRE(visitor.visited.empty());
        }
    }
}

TEST_CASE("fault 42: a handler never sees a message that does not decode") {
    AnyMessage visitor;
    const auto done = visit_inbound<Port::servers>(ByteOrder::little, ServerHeartbeat::code, Bytes(15), visitor);
    REQUIRE_FALSE(done);
    CHECK(done.error() == WireError::truncated);
    CHECK(visitor.visited.empty());
}

TEST_CASE("fault 40: another port's codes are unknown here") {
    AnyMessage visitor;
    const Bytes payload = payload_of(ServerGoodbye{ServerId{1}}, ByteOrder::little);
    for (const Port port : {Port::matchmakers, Port::players}) {
        const auto done = visit_inbound(port, ByteOrder::little, ServerGoodbye::code, payload, visitor);
        REQUIRE_FALSE(done);
        CHECK(done.error() == WireError::unknown_code);
    }
    CHECK(visitor.visited.empty());
}

TEST_CASE("fault 40: the game's own codes pass with any payload from a player, and only from a player") {
    const Bytes payload(5'000, std::byte{0xFF});
    for (const Code code : {Code{1000}, Code{2500}, Code{4095}}) {
        for (const auto& given : {std::span<const std::byte>(payload), std::span<const std::byte>()}) {
            AnyMessage visitor;
            CHECK(visit_inbound<Port::players>(ByteOrder::big, code, given, visitor));
            CHECK(visitor.visited == "game");
            CHECK(visitor.payload.size() == given.size());
        }
        AnyMessage visitor;
        const auto outward = visit_outbound<Port::players>(ByteOrder::big, code, payload, visitor);
        REQUIRE_FALSE(outward);
        CHECK(outward.error() == WireError::wrong_direction);
        CHECK(visitor.visited.empty());
    }
    AnyMessage visitor;
    for (const Code code : {Code{999}, Code{4096}}) {
        const auto done = visit_inbound<Port::players>(ByteOrder::big, code, payload, visitor);
        REQUIRE_FALSE(done);
        CHECK(done.error() == WireError::unknown_code);
    }
}

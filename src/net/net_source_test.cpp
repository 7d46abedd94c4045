#include "net/net_source.h"

#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "net/net_fixture.h"
#include "protocol/messages.h"

using namespace muster;

namespace {

class Diary final : public LinkEvents {
public:
    void opened(const Pass&, ConnectionId link, const IpAddress& from) override {
        note("opened", link, from.to_string());
    }
    void frame(const Pass&, const InboundFrame& frame) override {
        if (frame.code == 0xDEAD) throw std::runtime_error("a handler's fault");
        note("frame", frame.from, fmt::format("{:x} {} {}", frame.code, frame.payload.size(), frame.rtt_us));
    }
    void malformed(const Pass&, ConnectionId link, WireError kind) override {
        note("malformed", link, to_string(kind));
    }
    void deadline_missed(const Pass&, ConnectionId link, LinkDeadline which) override {
        note("deadline", link, to_string(which));
    }
    void flooded(const Pass&, ConnectionId link) override { note("flooded", link); }
    void paused(const Pass&, ConnectionId link) override { note("paused", link); }
    void resumed(const Pass&, ConnectionId link) override { note("resumed", link); }
    void closed(const Pass&, ConnectionId link, CloseReason reason) override {
        note("closed", link, to_string(reason));
    }
    void frame_failed(const Pass&, ConnectionId link) override { note("failed", link); }

    std::vector<std::string> lines;

private:
    void note(std::string_view what, ConnectionId link, std::string_view detail = "") {
        lines.push_back(fmt::format("{} {} {}", what, link.slot, detail));
    }
};

struct SourceFixture {
    VirtualClock clock;
    CountingWaiter waiter;
    Network network{clock, waiter, NetworkConfig()};
    Diary diary;
    NetSource source{network, Port::servers, diary};
    InboundBatch turn;
    const ConnectionId link{4, 1};
    const Pass pass{clock.now(), clock.now(), 1};

    void handle_all() {
        network.inbox(Port::servers).publish(turn);
        source.refill();
        while (source.handle_next(pass)) {
        }
    }
};

}  // namespace

TEST_CASE_FIXTURE(SourceFixture, "each thing that happened on a port is one call, in order") {
    const auto payload = numbered(1, 16);
    turn.add_opened(link, clock.now(), *IpAddress::parse("10.1.2.3"));
    turn.add_frame(link, clock.now(), 0x1002, payload, 320);
    turn.add(InboundKind::paused, link, clock.now());
    turn.add(InboundKind::resumed, link, clock.now());
    turn.add(InboundKind::flooded, link, clock.now());
    turn.add(InboundKind::malformed, link, clock.now(), static_cast<std::uint8_t>(WireError::too_large));
    turn.add(InboundKind::deadline, link, clock.now(), static_cast<std::uint8_t>(LinkDeadline::frame));
    turn.add(InboundKind::deadline, link, clock.now(), static_cast<std::uint8_t>(LinkDeadline::handshake));
    turn.add(InboundKind::closed, link, clock.now(), static_cast<std::uint8_t>(CloseReason::peer_reset));
    handle_all();
    CHECK(diary.lines == std::vector<std::string>{"opened 4 10.1.2.3", "frame 4 1002 16 320", "paused 4 ", "resumed 4 ",
                                                  "flooded 4 ", "malformed 4 too_large", "deadline 4 frame",
                                                  "deadline 4 handshake", "closed 4 peer_reset"});
    CHECK(source.depth() == 0);
    CHECK_FALSE(source.refill());
}

TEST_CASE_FIXTURE(SourceFixture, "the message handled last is known by its name") {
    turn.add_frame(link, clock.now(), 0x1002, {}, 0);
    handle_all();
    CHECK(source.last_handled() == "NET_CHAT_SV_HEARTBEAT");
    turn.add_frame(link, clock.now(), 0x7777, {}, 0);
    handle_all();
    CHECK(source.last_handled() == "unknown message");
    turn.add(InboundKind::closed, link, clock.now());
    handle_all();
    CHECK(source.last_handled() == "closed");
    CHECK(source.name() == "servers");
}

TEST_CASE_FIXTURE(SourceFixture, "W-7: a handshake deadline that crossed its acceptance is not told") {
    network.links().greeted(link);
    turn.add(InboundKind::deadline, link, clock.now(), static_cast<std::uint8_t>(LinkDeadline::handshake));
    turn.add(InboundKind::deadline, {4, 2}, clock.now(), static_cast<std::uint8_t>(LinkDeadline::handshake));
    turn.add(InboundKind::deadline, link, clock.now(), static_cast<std::uint8_t>(LinkDeadline::frame));
    handle_all();
    CHECK(diary.lines == std::vector<std::string>{"deadline 4 handshake", "deadline 4 frame"});
}

TEST_CASE_FIXTURE(SourceFixture, "fault 13: a frame whose handler throws is told to it, and the next one comes") {
    turn.add_frame(link, clock.now(), 0xDEAD, {}, 0);
    turn.add_frame(link, clock.now(), 0x1002, {}, 0);
    network.inbox(Port::servers).publish(turn);
    CHECK(source.refill());
    CHECK_THROWS_WITH(source.handle_next(pass), "a handler's fault");
    CHECK(source.depth() == 1);
    CHECK(source.refill());
    CHECK(source.handle_next(pass));
    CHECK_FALSE(source.handle_next(pass));
    CHECK(diary.lines == std::vector<std::string>{"failed 4 ", "frame 4 1002 0 0"});
}

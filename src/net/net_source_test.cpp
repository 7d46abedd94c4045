#include "net/net_source.h"

#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "net/net_fixture.h"
#include "net/network.h"
#include "protocol/messages.h"

using namespace muster;

namespace {

class Diary {
public:
    void opened(const Pass&, ConnectionId link, Port port, const IpAddress& from, std::string_view name) {
        note("opened", link, fmt::format("{} {} {}", to_string(port), from.to_string(), name));
    }
    void frame(const Pass&, ConnectionId link, const PeerFrame& frame) {
        if (frame.code == 0xDEAD) throw std::runtime_error("a handler's fault");
        note("frame", link, fmt::format("{:x} {} {}", frame.code, frame.payload.size(), frame.rtt_us));
    }
    void malformed(const Pass&, ConnectionId link, WireError kind) { note("malformed", link, to_string(kind)); }
    void gave_up(const Pass&, ConnectionId link, LinkFault fault) { note("gave up", link, to_string(fault)); }
    void paused(const Pass&, ConnectionId link) { note("paused", link); }
    void resumed(const Pass&, ConnectionId link) { note("resumed", link); }
    void drained(ConnectionId link) { note("drained", link); }
    void closed(const Pass&, ConnectionId link) { note("closed", link); }
    void handler_failed(const Pass&, ConnectionId link) { note("failed", link); }

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
    NetSource<Diary, Network> source{network, Port::servers, diary};
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
    turn.add_opened(link, clock.now(), *IpAddress::parse("10.1.2.3"), "eu-1");
    turn.add_frame(link, clock.now(), 0x1002, payload, 320);
    turn.add(InboundKind::paused, link, clock.now());
    turn.add(InboundKind::resumed, link, clock.now());
    turn.add(InboundKind::malformed, link, clock.now(), static_cast<std::uint8_t>(WireError::too_large));
    for (const LinkFault fault : link_faults)
        turn.add(InboundKind::gave_up, link, clock.now(), static_cast<std::uint8_t>(fault));
    turn.add(InboundKind::closed, link, clock.now(), static_cast<std::uint8_t>(CloseReason::peer_reset));
    handle_all();
    CHECK(diary.lines == std::vector<std::string>{"opened 4 servers 10.1.2.3 eu-1", "frame 4 1002 16 320", "paused 4 ",
                                                  "resumed 4 ", "malformed 4 too_large", "gave up 4 handshake_deadline",
                                                  "gave up 4 frame_deadline", "gave up 4 flooded", "closed 4 "});
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

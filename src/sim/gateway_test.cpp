#include "sim/gateway.h"

#include <vector>

#include <doctest/doctest.h>

#include "protocol/codec.h"
#include "protocol/messages.h"

using namespace muster;
using namespace muster::sim;
using namespace std::chrono_literals;

namespace {

struct QuietPeer final : Peer {
    void frame(LinkNumber, Code, std::span<const std::byte>) override { ++frames; }
    void link_down(LinkNumber) override { ++downs; }
    int frames = 0;
    int downs = 0;
};

// Muster's end: what the sockets bring goes to the gateway.
struct GatewayFixture : Listener {
    explicit GatewayFixture(GatewayConditions wanted = {.workers = 1}) : conditions(wanted) { network.listen(this); }

    bool accept(LinkNumber link, Port port, const IpAddress& ip) override {
        gateway.accepted(link, port, ip);
        return true;
    }
    void bytes(LinkNumber link, std::span<const std::byte> bytes) override { gateway.bytes(link, bytes); }
    void ended(LinkNumber link) override { gateway.ended(link); }
    void drained(LinkNumber link) override { gateway.drained(link); }

    void run(Duration by) {
        const Time end = clock.now() + by;
        while (agenda.step(end)) {
        }
    }
    LinkNumber connect(Port port) {
        const LinkNumber link = network.connect(peer, port, IpAddress::v4({10, 0, 0, 1}));
        run(1s);
        return link;
    }
    std::vector<InboundItem> told(Port port) {
        gateway.turn_without_thread();
        InboundBatch batch;
        std::vector<InboundItem> items;
        if (!gateway.inbox(port).take(batch)) return items;
        for (std::size_t i = 0; i < batch.size(); ++i) items.push_back(batch[i]);
        return items;
    }

    GatewayConditions conditions;
    VirtualClock clock;
    Agenda agenda{clock};
    QuietPeer peer;
    Network network{agenda, Random(1), NetworkConditions{.kernel_bytes = 100}};
    Gateway gateway{clock, network, conditions, Random(2)};
};

struct SharedSlots : GatewayFixture {
    SharedSlots() : GatewayFixture({.workers = 1, .slots_shared = true}) {}
};

struct LittleRoom : GatewayFixture {
    LittleRoom() : GatewayFixture({.workers = 1, .inbox_items = 1, .unsent_max = 1'000}) {}
};

}  // namespace

TEST_CASE_FIXTURE(GatewayFixture, "fault 32: a slot is used again by its own port, with another generation") {
    const LinkNumber player = connect(Port::players);
    const auto first = told(Port::players).at(0);
    CHECK(first.kind == InboundKind::opened);
    network.close(player);
    connect(Port::servers);
    connect(Port::players);
    const auto later = told(Port::players);
    REQUIRE(later.size() == 2);
    CHECK(later[0].kind == InboundKind::closed);
    CHECK(later[0].connection == first.connection);
    CHECK(later[1].connection.slot == first.connection.slot);
    CHECK(later[1].connection.generation > first.connection.generation);
    CHECK(told(Port::servers).at(0).connection.slot != first.connection.slot);
}

TEST_CASE_FIXTURE(SharedSlots,
                  "fault 32: the servers' inbox tells of a slot before the players' tells that it is free") {
    const LinkNumber player = connect(Port::players);
    const auto first = told(Port::players).at(0);
    network.close(player);
    run(1s);
    connect(Port::servers);
    const auto opened = told(Port::servers).at(0);
    CHECK(opened.kind == InboundKind::opened);
    CHECK(opened.connection.slot == first.connection.slot);
    CHECK(gateway.link_of(first.connection) == player);  // until the loop has heard of its end
    CHECK(told(Port::players).at(0).kind == InboundKind::closed);
}

TEST_CASE_FIXTURE(LittleRoom, "B-1: what finds no room in an inbox is read later, in order") {
    connect(Port::servers);
    connect(Port::servers);
    CHECK(told(Port::servers).size() == 1);
    CHECK(gateway.has_something());
    CHECK(told(Port::servers).size() == 1);
    CHECK_FALSE(gateway.has_something());
}

TEST_CASE_FIXTURE(LittleRoom, "W-7: a link is cut beyond its unsent bytes, and is told when all has left") {
    const LinkNumber link = connect(Port::matchmakers);
    CHECK(told(Port::matchmakers).size() == 1);
    network.stop_reading(link, 5s);
    std::vector<std::byte> frame;
    encode(MatchmakerHeartbeatAck{}, ByteOrder::little, frame);
    const std::size_t fits = (100 + 1'000) / frame.size();
    for (std::size_t i = 0; i < fits; ++i) gateway.send(link, frame);
    gateway.report_drained(link);
    run(2s);
    CHECK(told(Port::matchmakers).empty());
    run(5s);
    CHECK(told(Port::matchmakers).at(0).kind == InboundKind::drained);
    CHECK(peer.frames == static_cast<int>(fits));
    CHECK(gateway.slow_readers() == 0);
    network.stop_reading(link, 5s);
    for (std::size_t i = 0; i <= fits; ++i) gateway.send(link, frame);
    CHECK(gateway.slow_readers() == 1);
    CHECK(gateway.cut_while_reading() == 0);
    run(1s);
    CHECK(told(Port::matchmakers).at(0).kind == InboundKind::closed);
    CHECK(peer.downs == 1);
}

TEST_CASE_FIXTURE(GatewayFixture, "W-7: a frame that has begun is known once, so that its deadline can run") {
    const LinkNumber link = connect(Port::matchmakers);
    std::vector<std::byte> frame;
    encode(MatchmakerHeartbeat{}, ByteOrder::little, frame);
    network.send(link, {frame.begin(), frame.begin() + 1});
    run(1s);
    told(Port::matchmakers);
    const auto begun = gateway.take_begun();
    REQUIRE(begun.size() == 1);
    CHECK(begun[0].link == link);
    gateway.frame_deadline(begun[0]);
    const auto items = told(Port::matchmakers);
    REQUIRE(items.size() == 1);
    CHECK(items[0].kind == InboundKind::gave_up);
    CHECK(gateway.take_begun().empty());
}

#include "sim/network.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/virtual_clock.h"
#include "protocol/codec.h"
#include "protocol/messages.h"

using namespace muster;
using namespace muster::sim;
using namespace std::chrono_literals;

namespace {

struct HeardPeer final : Peer {
    void frame(LinkNumber, Code code, std::span<const std::byte>) override { codes.push_back(code); }
    void link_down(LinkNumber) override { ++downs; }
    std::vector<Code> codes;
    int downs = 0;
};

struct HeardListener final : Listener {
    bool accept(LinkNumber, Port, const IpAddress&) override {
        ++accepted;
        return accepting;
    }
    void bytes(LinkNumber, std::span<const std::byte> bytes) override {
        received.insert(received.end(), bytes.begin(), bytes.end());
    }
    void ended(LinkNumber) override { ++ends; }
    void drained(LinkNumber) override { ++drains; }
    bool accepting = true;
    int accepted = 0;
    int ends = 0;
    int drains = 0;
    std::vector<std::byte> received;
};

struct NetworkFixture {
    NetworkFixture() { network.listen(&listener); }
    void run(Duration by) {
        const Time end = clock.now() + by;
        while (agenda.step(end)) {
        }
    }
    std::vector<std::byte> numbered(int count) {
        std::vector<std::byte> bytes;
        for (int i = 0; i < count; ++i) bytes.push_back(static_cast<std::byte>(i));
        return bytes;
    }

    VirtualClock clock;
    Agenda agenda{clock};
    HeardPeer peer;
    HeardListener listener;
    NetworkConditions conditions{.latency_min = 1ms, .latency_max = 30ms, .pieces = 0.5, .stall = 0.2, .stall_max = 5s};
    Network network{agenda, Random(1), conditions};
};

}  // namespace

TEST_CASE_FIXTURE(NetworkFixture, "bytes arrive in order, however they are cut and held up") {
    const LinkNumber link = network.connect(peer, Port::servers, IpAddress::v4({10, 0, 0, 1}));
    for (int i = 0; i < 100; ++i) network.send(link, {static_cast<std::byte>(i), static_cast<std::byte>(i)});
    run(60s);
    REQUIRE(listener.accepted == 1);
    REQUIRE(listener.received.size() == 200);
    for (std::size_t i = 0; i < 200; ++i) CHECK(std::to_integer<std::size_t>(listener.received[i]) == i / 2);
}

TEST_CASE_FIXTURE(NetworkFixture, "a peer gets whole frames, and its end after them") {
    const LinkNumber link = network.connect(peer, Port::matchmakers, IpAddress::v4({10, 0, 0, 1}));
    run(10s);
    std::vector<std::byte> bytes;
    encode(MatchmakerHeartbeatAck{}, ByteOrder::little, bytes);
    encode(MatchEventNotice{LobbyId(7), MatchEventKind::ready, {}}, ByteOrder::little, bytes);
    network.send_to_peer(link, bytes);
    network.close_to_peer(link);
    run(60s);
    CHECK(peer.codes == std::vector<Code>{MatchmakerHeartbeatAck::code, MatchEventNotice::code});
    CHECK(peer.downs == 1);
    CHECK(listener.ends == 1);
    CHECK_FALSE(network.open(link));
}

TEST_CASE_FIXTURE(NetworkFixture, "fault 20: of a half-open link neither end hears until it is found dead") {
    const LinkNumber link = network.connect(peer, Port::servers, IpAddress::v4({10, 0, 0, 1}));
    run(10s);
    network.lose(link, Way::both);
    network.send(link, numbered(10));
    run(40s);
    CHECK(listener.received.empty());
    CHECK(listener.ends == 0);
    CHECK(peer.downs == 0);
    run(90s);
    CHECK(listener.ends == 1);
    CHECK(peer.downs == 1);
}

TEST_CASE_FIXTURE(NetworkFixture, "fault 21: a reset loses what is in flight, and both ends hear of it once") {
    const LinkNumber link = network.connect(peer, Port::servers, IpAddress::v4({10, 0, 0, 1}));
    run(10s);
    network.send(link, numbered(10));
    network.reset(link);
    network.reset(link);
    run(60s);
    CHECK(listener.received.empty());
    CHECK(listener.ends == 1);
    CHECK(peer.downs == 1);
}

TEST_CASE_FIXTURE(NetworkFixture, "a link is refused while nobody listens, and dies with Muster's process") {
    listener.accepting = false;
    network.connect(peer, Port::servers, IpAddress::v4({10, 0, 0, 1}));
    run(20s);
    CHECK(peer.downs == 1);
    listener.accepting = true;
    network.connect(peer, Port::servers, IpAddress::v4({10, 0, 0, 1}));
    run(20s);
    network.drop_all(Network::Gone::maybe_power);
    run(100s);
    CHECK(peer.downs == 2);
    // A process that ends is heard of at once.
    for (int i = 0; i < 50; ++i) {
        network.connect(peer, Port::servers, IpAddress::v4({10, 0, 0, 1}));
        run(20s);
        network.drop_all(Network::Gone::process);
        run(2s);
        CHECK(peer.downs == 3 + i);
    }
    CHECK(listener.ends == 0);
}

// A port with TLS, seen by peers that speak it and by peers that do not (S-1, S-2, fault 75).
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "net/link_keeper.h"
#include "net/tls_fixture.h"

using namespace muster;
using namespace std::chrono_literals;

TEST_CASE_FIXTURE(TlsFixture, "S-1, S-2: frames go both ways over TLS, and the loop hears who the peer is") {
    TlsPeer peer = knock("eu-1");
    const ConnectionId link = join(peer);
    const Bytes opened = net.last(InboundKind::opened).payload;
    CHECK(std::string(reinterpret_cast<const char*>(opened.data()) + 16, opened.size() - 16) == "eu-1");
    CHECK(net.counts().tls_handshakes.value() == 1);

    Bytes many;
    for (std::uint32_t i = 0; i < 500; ++i) many += frame_of(0x1002, numbered(i, 100));
    peer.send(many);
    turn_until(peer, [&] { return net.count(InboundKind::frame) == 500; });
    for (std::uint32_t i = 0; i < 500; ++i) CHECK(number_in(net.payloads(link)[i]) == i);

    const Bytes large = frame_of(0x1003, Bytes(60'000, std::byte{7}));
    net.links->send(link, large);
    net.links->send(link, large);
    turn_until(peer, [&] { return peer.heard.size() == 2 * large.size(); });
    CHECK(std::equal(large.begin(), large.end(), peer.heard.begin()));

    net.links->close(link);
    turn_until(peer, [&] { return peer.socket.ended; });
    CHECK(peer.link.state() == TlsLink::State::ended);
    peer.socket.close();
    net.turn_until([&] { return net.count(InboundKind::closed) == 1; });
    CHECK(net.worker->is_stopped() == false);
    CHECK(net.counts().connections.value() == 0);
}

TEST_CASE_FIXTURE(TlsFixture, "S-1: a frame right behind the handshake is heard after the link was told") {
    TlsPeer peer = knock("eu-1");
    net.turn_until([&] {
        if (peer.link.state() == TlsLink::State::open) return true;
        const Bytes sealed = peer.socket.receive();
        Bytes plain(sealed.size() + TlsLink::plain_extra);
        Bytes out;
        peer.link.receive(sealed, plain, out);
        // The client's last words of the handshake and its first frame in one piece.
        if (peer.link.state() == TlsLink::State::open) REQUIRE(peer.link.send(frame_of(0x1001, numbered(5)), out));
        if (!out.empty()) peer.socket.send(out);
        return false;
    });
    net.turn_until([&] { return net.count(InboundKind::frame) == 1; });
    REQUIRE(net.seen.size() == 2);
    CHECK(net.seen[0].item.kind == InboundKind::opened);
    CHECK(net.seen[1].item.kind == InboundKind::frame);
}

TEST_CASE_FIXTURE(TlsFixture, "S-2, fault 75: a wrong role is refused without the loop, and the peer hears why") {
    TlsPeer peer = knock("mm");
    turn_until(peer, [&] { return peer.socket.ended; });
    CHECK(peer.link.state() == TlsLink::State::failed);
    CHECK(peer.link.failure() == TlsFailure::wrong_role);
    CHECK(failed(TlsFailure::wrong_role) == 1);
    CHECK(net.insecure == std::vector{TlsFailure::wrong_role});
    peer.socket.close();
    net.turn_until([&] { return net.counts().connections.value() == 0; });
    CHECK(net.seen.empty());
    CHECK(net.counts().closed[CloseReason::tls].value() == 1);
}

TEST_CASE_FIXTURE(TlsFixture, "fault 75: plain bytes to a TLS port are told and closed at once") {
    Peer peer(net.address(Port::servers));
    peer.send(frame_of(0x1001, numbered(1, 100)));
    net.turn_until([&] {
        peer.receive();
        return peer.ended;
    });
    CHECK(net.insecure == std::vector{TlsFailure::not_tls});
    CHECK(net.seen.empty());
}

TEST_CASE_FIXTURE(TlsFixture, "fault 75: TLS to a plain port is told and closed at once, in both byte orders") {
    for (const Port port : {Port::matchmakers, Port::players}) {
        net.insecure.clear();
        TlsPeer peer(net.address(port), pki.client("mm"));
        net.turn_until([&] { return net.count(InboundKind::malformed) == 1; });
        CHECK(net.insecure == std::vector{TlsFailure::unexpected_tls});
        CHECK(net.counts(port).tls_failed[TlsFailure::unexpected_tls].value() == 1);
        // The loop closes what is malformed.
        net.links->close(net.last(InboundKind::malformed).item.connection);
        net.turn_until([&] {
            peer.socket.receive();
            return peer.socket.ended;
        });
        net.seen.clear();
    }
}

TEST_CASE_FIXTURE(
    TlsFixture, "fault 75: a handshake has until the handshake deadline, and one that is left unfinished is no link") {
    TlsPeer slow = knock("eu-1");
    Peer silent(net.address(Port::servers));
    Peer leaver(net.address(Port::servers));
    leaver.send(bytes_of({0x16, 3, 1}));
    net.turn_until([&] { return net.counts().accepted.value() == 3; });
    net.turn(3);
    leaver.close();
    net.turn_until([&] { return failed(TlsFailure::incomplete) == 1; });
    net.clock.advance(9'999ms);
    net.turn(2);
    CHECK(failed(TlsFailure::timed_out) == 0);
    net.clock.advance(1ms);
    net.turn(2);
    CHECK(failed(TlsFailure::timed_out) == 2);
    // Whoever does not answer our FIN is cut a second later.
    net.clock.advance(LinkKeeper::last_words_max);
    net.turn(2);
    CHECK(net.counts().connections.value() == 0);
    CHECK(net.seen.empty());
}

TEST_CASE_FIXTURE(TlsFixture, "S-1: the time of the TLS handshake counts for the handshake deadline") {
    TlsPeer peer = knock("eu-1");
    net.turn_until([&] { return net.counts().accepted.value() == 1; });
    net.clock.advance(6s);
    net.turn();
    turn_until(peer, [&] { return net.count(InboundKind::opened) == 1; });
    net.clock.advance(3'999ms);
    net.turn(2);
    CHECK(net.count(InboundKind::gave_up) == 0);
    net.clock.advance(1ms);
    net.turn(2);
    CHECK(net.gave_up(LinkFault::handshake_deadline) == 1);
}

TEST_CASE_FIXTURE(TlsFixture,
                  "S-1, B-1: a record that is left unfinished has the frame deadline, and counts as a waiting buffer") {
    TlsPeer peer = knock("eu-1");
    const ConnectionId link = join(peer);
    const std::size_t before = net.budget.used();
    // The header of a record of 16 KiB, and half of it; a whole one before it is no excuse.
    peer.send(frame_of(0x1002, numbered(1)));
    Bytes half = bytes_of({0x17, 3, 3, 0x40, 0});
    half.resize(8'000);
    peer.socket.send(half);
    turn_until(peer, [&] { return net.budget.used() >= before + half.size(); });
    CHECK(net.count(InboundKind::frame, link) == 1);
    net.clock.advance(net.limits.of(Port::servers).frame_deadline - 1ms);
    net.turn(2);
    CHECK(net.gave_up(LinkFault::frame_deadline) == 0);
    net.clock.advance(1ms);
    net.turn(2);
    CHECK(net.gave_up(LinkFault::frame_deadline) == 1);
    net.links->cut(link);
    net.turn(2);
    CHECK(net.budget.used() == before);
}

TEST_CASE_FIXTURE(TlsFixture, "S-1: a peer that says its end is answered with ours") {
    TlsPeer peer = knock("eu-1");
    join(peer);
    Bytes last;
    peer.link.close(last);
    peer.socket.send(last);
    turn_until(peer, [&] { return peer.socket.ended; });
    CHECK(peer.link.state() == TlsLink::State::ended);
    CHECK(net.last(InboundKind::closed).item.reason() == CloseReason::peer_closed);
}

TEST_CASE_FIXTURE(TlsFixture,
                  "S-2, fault 76: a new list of revoked certificates closes their links and leaves the others") {
    TlsPeer stays = knock("eu-1");
    const ConnectionId staying = join(stays);
    TlsPeer goes = knock("eu-2");
    const ConnectionId going = join(goes);
    TlsPeer begun = knock("eu-2");
    net.turn(3);

    net.tls.set(Port::servers, pki.server(pki.serial("eu-2") + "\n"));
    turn_until(goes, [&] { return goes.socket.ended; });
    goes.socket.close();
    net.turn_until([&] { return net.count(InboundKind::closed) == 1; });
    CHECK(net.count(InboundKind::closed, going) == 1);
    CHECK(net.last(InboundKind::closed).item.reason() == CloseReason::revoked);
    // A handshake that had begun before is judged by the new list.
    turn_until(begun, [&] { return begun.socket.ended; });
    CHECK(failed(TlsFailure::revoked) == 1);
    CHECK(net.count(InboundKind::opened) == 2);

    stays.send(frame_of(0x1002, numbered(9)));
    turn_until(stays, [&] { return net.count(InboundKind::frame, staying) == 1; });
}

TEST_CASE_FIXTURE(TlsFixture,
                  "fault 76: links that are up outlive the certificate they came with, and new ones get the next") {
    TlsPeer old = knock("eu-1");
    const ConnectionId first = join(old);
    Pki other;
    net.tls.set(Port::servers, other.server());
    net.turn();
    TlsPeer late(net.address(Port::servers), other.client("eu-1"));
    join(late);
    TlsPeer stale = knock("eu-2");
    turn_until(stale, [&] { return stale.link.state() == TlsLink::State::failed; });
    CHECK(stale.link.failure() == TlsFailure::unknown_ca);
    old.send(frame_of(0x1002, numbered(3)));
    turn_until(old, [&] { return net.count(InboundKind::frame, first) == 1; });
    CHECK(net.count(InboundKind::closed) == 0);
}

TEST_CASE_FIXTURE(
    TlsFixture,
    "fault 75: however many shake hands, a turn goes on with a few, and links that are up are heard in it") {
    TlsPeer up = knock("eu-1");
    const ConnectionId link = join(up);
    std::vector<std::unique_ptr<TlsPeer>> flood;
    constexpr std::size_t peers = 3 * NetWorker::handshakes_per_turn;
    const auto with = pki.client("eu-2");
    const std::uint64_t before = net.counts().accepted.value();
    for (std::size_t i = 0; i < peers; ++i)
        flood.push_back(std::make_unique<TlsPeer>(net.address(Port::servers), with));
    net.turn_until([&] { return net.counts().accepted.value() == before + peers; });
    const std::uint64_t heard = net.counts().bytes_in.value();
    up.send(frame_of(0x1002, numbered(1)));
    // By now all of them wait with the rest of their handshakes.
    net.turn_until([&] { return net.count(InboundKind::frame, link) == 1; });
    CHECK(net.counts().bytes_in.value() > heard);
    net.turn_until([&] {
        for (auto& peer : flood) peer->turn();
        return net.counts().tls_handshakes.value() == peers + 1;
    });
    CHECK(net.count(InboundKind::opened) == peers + 1);
}

TEST_CASE_FIXTURE(TlsFixture, "fault 75: a newcomer does not wait for the handshakes that another address has sent") {
    constexpr std::size_t peers = 20 * NetWorker::first_steps_per_turn;
    std::vector<std::unique_ptr<TlsPeer>> flood;
    const auto with = pki.client("eu-2");
    for (std::size_t i = 0; i < peers; ++i)
        flood.push_back(std::make_unique<TlsPeer>(net.address(Port::servers), with, std::uint8_t{2}));
    TlsPeer newcomer(net.address(Port::servers), pki.client("eu-1"), 3);
    turn_until(newcomer, [&] { return net.count(InboundKind::opened) == 1; });
    const auto begun =
        std::count_if(flood.begin(), flood.end(), [](auto& peer) { return !peer->socket.receive().empty(); });
    CHECK(begun > 0);
    CHECK(begun < static_cast<std::ptrdiff_t>(peers / 2));
}

TEST_CASE_FIXTURE(TlsFixture, "fault 75: in a full port, links that have proved nothing give way to other addresses") {
    net.change_limits(Port::servers, [](PortLimits& limits) { limits.connections_max = 20; });
    TlsPeer up(net.address(Port::servers), pki.client("eu-1"), 2);
    const ConnectionId link = join(up);
    std::vector<std::unique_ptr<Peer>> flood;
    for (int i = 0; i < 30; ++i)
        flood.push_back(std::make_unique<Peer>(net.address(Port::servers), 0, std::uint8_t{2}));
    net.turn_until([&] { return net.counts().refused[AcceptRefusal::per_port].value() == 11; });
    CHECK(net.counts().connections.value() == 20);

    TlsPeer newcomer(net.address(Port::servers), pki.client("eu-2"), 3);
    turn_until(newcomer, [&] { return net.count(InboundKind::opened) == 2; });
    CHECK(net.counts().closed[CloseReason::gave_way].value() == 1);
    CHECK(net.counts().connections.value() == 20);
    // Who is up stays, and so does what one address has taken from nobody.
    up.send(frame_of(0x1002, numbered(1)));
    turn_until(up, [&] { return net.count(InboundKind::frame, link) == 1; });
    Peer more(net.address(Port::servers), 0, 2);
    net.turn_until([&] { return net.counts().refused[AcceptRefusal::per_port].value() == 12; });
}

TEST_CASE_FIXTURE(TlsFixture, "fault 75: no handshake is begun for a peer that has left while it waited") {
    constexpr std::size_t peers = 4 * NetWorker::first_steps_per_turn;
    std::vector<std::unique_ptr<TlsPeer>> flood;
    const auto with = pki.client("eu-2");
    for (std::size_t i = 0; i < peers; ++i)
        flood.push_back(std::make_unique<TlsPeer>(net.address(Port::servers), with));
    Peer plain(net.address(Port::servers));
    plain.send(frame_of(0x1001, numbered(1, 100)));
    net.turn_until([&] { return net.counts().bytes_in.value() > 0; });
    for (auto& peer : flood) peer->socket.close();
    plain.end_sending();
    const std::uint64_t before = net.counts().bytes_in.value();
    net.turn_until([&] { return failed(TlsFailure::incomplete) == peers; });
    // Of those that had not been begun nothing was read.
    CHECK(net.counts().bytes_in.value() < 2 * before + 200);
    // Whoever spoke something else is told so all the same.
    net.turn_until([&] { return failed(TlsFailure::not_tls) == 1; });
    plain.close();
    net.turn_until([&] { return net.counts().connections.value() == 0; });
}

TEST_CASE_FIXTURE(TlsFixture,
                  "fault 28: of a fleet that comes at once, those that were begun are finished first, and who has to "
                  "wait for its turn is not late") {
    constexpr std::size_t peers = 6 * NetWorker::first_steps_per_turn;
    std::vector<std::unique_ptr<TlsPeer>> fleet;
    const auto with = pki.client("eu-2");
    for (std::size_t i = 0; i < peers; ++i)
        fleet.push_back(std::make_unique<TlsPeer>(net.address(Port::servers), with));
    net.turn_until([&] { return net.counts().accepted.value() == peers; });
    // A turn later the first ones are through, while others have not begun.
    for (auto& peer : fleet) peer->turn();
    net.turn_until([&] {
        for (auto& peer : fleet) peer->turn();
        return net.counts().tls_handshakes.value() > 0;
    });
    CHECK(net.counts().tls_handshakes.value() < peers / 2);
    // Nobody is turned away for having waited for us; each has its whole time from when it was begun.
    for (int turn = 0; turn < 1'000 && net.counts().tls_handshakes.value() < peers; ++turn) {
        net.clock.advance(9s);
        net.turn();
        for (auto& peer : fleet) peer->turn();
    }
    CHECK(net.counts().tls_handshakes.value() == peers);
    CHECK(failed(TlsFailure::timed_out) == 0);
}

TEST_CASE(
    "S-1, fault 28: only so many handshakes are under way at once, and the next begin as those end or fall silent") {
    constexpr std::size_t at_once = 4;
    constexpr std::size_t peers = 3 * at_once;
    const Pki pki;
    WorkerFixture net{{}, default_total_buffers, pki.server(), at_once};
    const auto with = pki.client("eu-2");
    std::vector<std::unique_ptr<TlsPeer>> fleet;
    for (std::size_t i = 0; i < peers; ++i)
        fleet.push_back(std::make_unique<TlsPeer>(net.address(Port::servers), with));
    std::vector<Bytes> answers(peers);
    const auto begun = [&] {
        for (std::size_t i = 0; i < peers; ++i) {
            const Bytes more = fleet[i]->socket.receive();
            answers[i].insert(answers[i].end(), more.begin(), more.end());
        }
        return std::count_if(answers.begin(), answers.end(), [](const Bytes& answer) { return !answer.empty(); });
    };
    net.turn_until([&] { return begun() == at_once; });
    for (int turn = 0; turn < 20; ++turn) net.turn();
    CHECK(begun() == at_once);

    // All of them are silent: after a second others get their turn, and only so many again.
    net.clock.advance(HandshakesUnderWay::patience);
    net.turn_until([&] { return begun() == 2 * at_once; });
    for (int turn = 0; turn < 20; ++turn) net.turn();
    CHECK(begun() == 2 * at_once);

    // One of the latest goes, and one more begins.
    const auto last =
        std::find_if(answers.rbegin(), answers.rend(), [](const Bytes& answer) { return !answer.empty(); });
    const auto gone = static_cast<std::size_t>(std::distance(answers.begin(), last.base()) - 1);
    fleet[gone]->socket.close();
    net.turn_until([&] { return net.counts().tls_failed[TlsFailure::incomplete].value() == 1; });
    answers[gone].clear();
    fleet[gone] = std::make_unique<TlsPeer>(net.address(Port::servers), with);
    net.turn_until([&] { return begun() == 2 * at_once; });
}

TEST_CASE_FIXTURE(TlsFixture, "fault 75: who has not said its first message whole keeps nobody from beginning") {
    WorkerFixture small{{}, default_total_buffers, pki.server(), 1};
    Peer slow(small.address(Port::servers));
    slow.send({std::byte{0x16}, std::byte{3}, std::byte{1}});
    small.turn_until([&] { return small.counts().bytes_in.value() == 3; });
    TlsPeer peer(small.address(Port::servers), pki.client("eu-1"));
    small.turn_until([&] {
        peer.turn();
        return small.count(InboundKind::opened) == 1;
    });
}

TEST_CASE_FIXTURE(TlsFixture,
                  "fault 75: a record that was changed on the way ends the link, and what came before it is heard") {
    TlsPeer peer = knock("eu-1");
    const ConnectionId link = join(peer);
    Bytes sealed;
    REQUIRE(peer.link.send(frame_of(0x1002, numbered(1)), sealed));
    REQUIRE(peer.link.send(frame_of(0x1002, numbered(2)), sealed));
    sealed.back() ^= std::byte{1};
    peer.socket.send(sealed);
    net.turn_until([&] { return net.count(InboundKind::closed, link) == 1; });
    CHECK(net.payloads(link) == std::vector<Bytes>{numbered(1)});
    CHECK(net.last(InboundKind::closed).item.reason() == CloseReason::tls);
    CHECK(failed(TlsFailure::broken) == 1);
}

TEST_CASE_FIXTURE(TlsFixture, "X-3: a stop cuts handshakes that run and says goodbye to links that are up") {
    TlsPeer up = knock("eu-1");
    join(up);
    TlsPeer begun = knock("eu-2");
    net.turn_until([&] { return net.counts().accepted.value() == 2; });
    net.worker->stop();
    turn_until(up, [&] { return up.socket.ended; });
    CHECK(up.link.state() == TlsLink::State::ended);
    up.socket.close();
    net.turn_until([&] { return net.worker->is_stopped(); });
    CHECK(net.count(InboundKind::closed) == 1);
}

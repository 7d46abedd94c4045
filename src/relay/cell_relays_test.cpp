#include "relay/cell_relays.h"

#include <doctest/doctest.h>

#include "relay/relay_fixture.h"

using namespace muster;

namespace {

// Two cells, each with a region and with players.
struct TwoCells {
    using Words = std::vector<std::string>;
    static constexpr ConnectionId game_server{1, 1};
    static constexpr ConnectionId asker{2, 1};
    static constexpr ConnectionId player{3, 1};
    static constexpr Time at{};
    static constexpr CellNumber eu = 0;
    static constexpr CellNumber us = 1;

    Words finds_owner(CellNumber cell) {
        std::vector<std::byte> out;
        relays.owner_found(cell, out);
        return heard_in(out);
    }
    // What the owner of each cell hears.
    template <class Fill>
    std::vector<Words> peers_do(Port port, Fill fill) {
        InboundBatch batch;
        fill(batch);
        std::vector<std::vector<std::byte>> out(2);
        std::vector<std::vector<std::byte>*> to(2);
        for (const CellNumber cell : {eu, us}) to[cell] = relays.has_owner(cell) ? &out[cell] : nullptr;
        relays.take(batch, port, to);
        return {heard_in(out[eu]), heard_in(out[us])};
    }
    template <Message M>
    static void says(InboundBatch& batch, ConnectionId from, const M& message) {
        batch.add_frame(from, at, M::code, payload_of(message), 0);
    }
    template <Message M>
    Words owner_sends(CellNumber cell, ConnectionId to, const M& message) {
        std::vector<std::byte> bytes;
        NodeWriter(bytes).send(to, frame_of(message));
        CHECK(relays.heard(cell, NodeKind::send, std::span(bytes).subspan(node_head_size)));
        relays.flushed();
        return peers.take();
    }
    static ServerHandshake server_of(int region) {
        ServerHandshake hello;
        hello.region = RegionId(static_cast<std::int8_t>(region));
        return hello;
    }
    static AllocationRequest asks_in(int lobby, int region) {
        AllocationRequest request = asks_for(lobby);
        request.region = RegionId(static_cast<std::int8_t>(region));
        return request;
    }
    static MatchmakerHandshakeResponse yes() {
        return MatchmakerHandshakeResponse{MatchmakerHandshakeResponse::Accepted{}};
    }

    PeerBook unused;
    ListedPeers peers;
    CellRelays relays{CellRoutes({{"eu", std::vector{RegionId(2)}, true}, {"us", std::vector{RegionId(1)}, true}}),
                      unused, peers};
};

}  // namespace

TEST_CASE_FIXTURE(TwoCells, "N-7: a peer is told to the owner of its cell, and to no other") {
    CHECK(finds_owner(eu).empty());
    CHECK(finds_owner(us).empty());
    const auto heard = peers_do(Port::servers, [&](InboundBatch& batch) {
        batch.add_opened(game_server, at, *IpAddress::parse("10.0.0.2"));
        batch.add(InboundKind::paused, game_server, at);
        batch.add(InboundKind::resumed, game_server, at);
        says(batch, game_server, server_of(1));
        says(batch, game_server, ServerHeartbeat{});
    });
    CHECK(heard == std::vector<Words>{{}, {"opened", "frame 4096", "frame 4098"}});
    PlayerLogin login;
    login.player_name = NameText("a");  // an even hash
    CHECK(peers_do(Port::players, [&](InboundBatch& batch) {
              batch.add_opened(player, at, {});
              says(batch, player, login);
          }) == std::vector<Words>{{"opened", "frame 10"}, {}});
    CHECK(relays.peers_of(eu) == 1);
    CHECK(relays.peers_of(us) == 1);
    CHECK(peers_do(Port::servers, [&](InboundBatch& batch) { batch.add(InboundKind::closed, game_server, at); }) ==
          std::vector<Words>{{}, {"closed"}});
    CHECK(relays.peers_of(us) == 0);
}

TEST_CASE_FIXTURE(TwoCells, "N-7: a peer that goes before it has spoken is told to nobody") {
    static_cast<void>(finds_owner(eu));
    static_cast<void>(finds_owner(us));
    CHECK(peers_do(Port::servers, [&](InboundBatch& batch) {
              batch.add_opened(game_server, at, {});
              batch.add(InboundKind::closed, game_server, at);
          }) == std::vector<Words>{{}, {}});
    // One that breaks the protocol with its first bytes is refused by the first cell.
    CHECK(peers_do(Port::servers, [&](InboundBatch& batch) {
              batch.add_opened(game_server, at, {});
              batch.add(InboundKind::malformed, game_server, at, 0);
          }) == std::vector<Words>{{"opened", "malformed"}, {}});
}

TEST_CASE_FIXTURE(TwoCells, "N-7, fault 85: a cell without an owner holds up its own peers only") {
    CHECK_FALSE(relays.may_take());
    static_cast<void>(finds_owner(eu));
    CHECK(relays.may_take());
    CHECK(peers_do(Port::matchmakers, [&](InboundBatch& batch) {
              batch.add_opened(asker, at, {});
              says(batch, asker, MatchmakerHandshake{});
          }) == std::vector<Words>{{"opened", "frame 8192"}, {}});
    CHECK(owner_sends(eu, asker, yes()) == Words{"send 2 8193"});
    CHECK(peers_do(Port::matchmakers, [&](InboundBatch& batch) {
              says(batch, asker, asks_in(1, 2));
              says(batch, asker, asks_in(2, 1));
          }) == std::vector<Words>{{"frame 8194"}, {}});
    CHECK(owner_sends(eu, asker, refused(1)) == Words{"send 2 8195"});
    // The other cell's owner hears all that waited for it, and the matchmaker does not hear that it is accepted again.
    CHECK(finds_owner(us) == Words{"opened", "frame 8192", "frame 8194"});
    CHECK(owner_sends(us, asker, yes()).empty());
    CHECK(owner_sends(us, asker, refused(2)) == Words{"send 2 8195"});
    CHECK(relays.unanswered() == 0);
}

TEST_CASE_FIXTURE(TwoCells, "N-7, fault 85: the owner of one cell changes, and the other cell's hears nothing of it") {
    static_cast<void>(finds_owner(eu));
    static_cast<void>(finds_owner(us));
    peers_do(Port::matchmakers, [&](InboundBatch& batch) {
        batch.add_opened(asker, at, {});
        says(batch, asker, MatchmakerHandshake{});
        says(batch, asker, CancelMatch{LobbyId(1)});
    });
    CHECK(owner_sends(eu, asker, yes()).empty());
    CHECK(owner_sends(us, asker, yes()) == Words{"send 2 8193"});
    relays.owner_lost(us);
    CHECK(peers.take().empty());  // the socket stays open
    CHECK(finds_owner(us) == Words{"opened", "frame 8192", "frame 8199"});
    CHECK(owner_sends(us, asker, yes()).empty());
    const MatchEventNotice cancelled{LobbyId(1), MatchEventKind::aborted, ReasonText("Cancelled")};
    CHECK(owner_sends(us, asker, cancelled) == Words{"send 2 8198"});
}

TEST_CASE_FIXTURE(TwoCells, "N-7: what a matchmaker may not say is refused once, by a cell that has an owner") {
    static_cast<void>(finds_owner(us));
    peers_do(Port::matchmakers, [&](InboundBatch& batch) { batch.add_opened(asker, at, {}); });
    CHECK(peers_do(Port::matchmakers, [&](InboundBatch& batch) {
              batch.add_frame(asker, at, 0x2FFF, {}, 0);
              batch.add(InboundKind::malformed, asker, at, 0);
          }) == std::vector<Words>{{}, {"frame 12287", "malformed"}});
}

TEST_CASE_FIXTURE(TwoCells, "B-1, N-7: when too many requests wait for an owner, no port is read") {
    static_cast<void>(finds_owner(eu));
    for (std::uint32_t i = 1; relays.may_take(); ++i) {
        REQUIRE(i < 10);
        peers_do(Port::servers, [&](InboundBatch& batch) {
            const ConnectionId id{i, 1};
            batch.add_opened(id, at, {});
            says(batch, id, server_of(1));
            for (std::size_t beat = 0; beat + 1 < PeerBook::unanswered_max; ++beat) says(batch, id, ServerHeartbeat{});
        });
    }
    CHECK(relays.unanswered() >= CellRelays::waiting_max);
    CHECK(peers.take().empty());
    static_cast<void>(finds_owner(us));
    CHECK(relays.may_take());
}

TEST_CASE_FIXTURE(TwoCells, "N-7: a peer without an owner that asks too much, or breaks the protocol, is closed") {
    static_cast<void>(finds_owner(eu));
    peers_do(Port::servers, [&](InboundBatch& batch) {
        batch.add_opened(game_server, at, {});
        says(batch, game_server, server_of(1));
        for (std::size_t i = 0; i < PeerBook::unanswered_max; ++i) says(batch, game_server, ServerHeartbeat{});
    });
    CHECK(peers.take() == Words{"close 1"});
    constexpr ConnectionId other{4, 1};
    peers_do(Port::servers, [&](InboundBatch& batch) {
        batch.add_opened(other, at, {});
        says(batch, other, server_of(1));
        batch.add(InboundKind::gave_up, other, at, static_cast<std::uint8_t>(LinkFault::handshake_deadline));
    });
    CHECK(peers.take().empty());  // its handshake is heard late
    peers_do(Port::servers, [&](InboundBatch& batch) { batch.add(InboundKind::malformed, other, at, 0); });
    CHECK(peers.take() == Words{"close 4"});
    // Their owner is not told of them, nor of their end.
    CHECK(finds_owner(us).empty());
    CHECK(peers_do(Port::servers, [&](InboundBatch& batch) {
              batch.add(InboundKind::closed, game_server, at);
              batch.add(InboundKind::closed, other, at);
          }) == std::vector<Words>{{}, {}});
}

TEST_CASE("N-7: with one cell the book that is given is used, and nothing is taken without an owner") {
    PeerBook book;
    book.opened(TwoCells::game_server, Port::servers, {}, "");
    ListedPeers peers;
    CellRelays relays(CellRoutes({RoutedCell{}}), book, peers);
    CHECK_FALSE(relays.may_take());
    std::vector<std::byte> out;
    relays.owner_found(0, out);
    CHECK(heard_in(out) == TwoCells::Words{"opened"});
    CHECK(relays.may_take());
    CHECK(relays.peers_of(0) == 1);
}

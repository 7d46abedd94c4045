#include "relay/matchmaker_fan.h"

#include <doctest/doctest.h>

#include "protocol/error_texts.h"
#include "relay/relay_fixture.h"

using namespace muster;

namespace {

struct Fanned {
    using Words = std::vector<std::string>;
    static constexpr ConnectionId asker{2, 1};
    static constexpr CellNumber eu = 0;
    static constexpr CellNumber us = 2;  // between them is one without regions

    Fanned() { fan.opened(asker); }

    void owned(std::initializer_list<CellNumber> cells) {
        for (const CellNumber cell : cells) fan.owner_found(cell);
    }
    template <Message M>
    bool asks(const M& message) {
        return fan.asked_all(asker, M::code, payload_of(message));
    }
    template <Message M>
    Words says(CellNumber cell, const M& message) {
        fan.send(cell, asker, frame_of(message));
        return peers.take();
    }
    void welcome() {
        owned({eu, us});
        CHECK(asks(MatchmakerHandshake{}));
        CHECK(says(eu, accepts({})).empty());
        CHECK(says(us, accepts({})) == Words{"send 2 8193"});
    }
    static MatchmakerHandshakeResponse accepts(std::initializer_list<int> servers, std::int64_t at = 5) {
        MatchmakerHandshakeResponse::Accepted accepted{UnixMs{at}, {}};
        for (const int id : servers)
            accepted.servers.items.push_back({ServerId(id), GameEndpoint{IpText("10.0.0.1"), 7000}, RegionId(1), 4});
        return MatchmakerHandshakeResponse{accepted};
    }
    static MatchmakerHandshakeResponse refuses() {
        return MatchmakerHandshakeResponse{Refused{ErrorText("Invalid token")}};
    }
    static MatchEventNotice aborted(int lobby, Reason why) {
        return {LobbyId(lobby), MatchEventKind::aborted, ReasonText(text(why))};
    }
    static MatchPlayers list(int lobby) {
        MatchPlayers players;
        players.lobby = LobbyId(lobby);
        return players;
    }
    static MatchPlayersResponse taken(int lobby) { return MatchPlayersResponse{LobbyAccepted{LobbyId(lobby)}}; }
    static MatchPlayersResponse not_taken(int lobby) {
        return MatchPlayersResponse{LobbyRefused{LobbyId(lobby), ErrorText("Server busy")}};
    }

    CellRoutes routes{{{"eu", std::vector{RegionId(2)}, false},
                       {"people", std::vector<RegionId>{}, true},
                       {"us", std::vector{RegionId(1)}, false}}};
    ListedPeers peers;
    MatchmakerFan fan{routes, peers};
};

}  // namespace

TEST_CASE("N-7: one acceptance of several cells has the servers of all by id, and as many as fit a frame") {
    const auto of = [](const MatchmakerHandshakeResponse& response) {
        return std::get<MatchmakerHandshakeResponse::Accepted>(response.answer);
    };
    const auto both = merged(of(Fanned::accepts({7, 9}, 5)), of(Fanned::accepts({1, 8}, 6)));
    CHECK(both.time == UnixMs{6});
    std::vector<int> ids;
    for (const auto& server : both.servers.items) ids.push_back(server.server.value);
    CHECK(ids == std::vector<int>{1, 7, 8, 9});

    MatchmakerHandshakeResponse::Accepted many;
    for (int id = 1; id <= 2'500; ++id)
        many.servers.items.push_back({ServerId(id), GameEndpoint{IpText("10.0.0.1"), 7000}, RegionId(1), 4});
    const auto fits = merged(many, many);
    CHECK(fits.servers.items.size() == 2'848);  // 23 bytes each behind 15
    CHECK(encoded_size(MatchmakerHandshakeResponse{fits}) <= 65'537);
}

TEST_CASE_FIXTURE(Fanned, "N-7: a matchmaker is accepted once all cells with an owner have accepted it") {
    owned({eu, us});
    CHECK(asks(MatchmakerHandshake{}));
    CHECK(says(us, accepts({4})).empty());
    // What a cell tells meanwhile comes behind the acceptance.
    CHECK(says(us, MatchEventNotice{LobbyId(1), MatchEventKind::ready, {}}).empty());
    fan.report_drained(asker);
    CHECK(peers.take().empty());
    CHECK(says(eu, accepts({3})) == Words{"send 2 8193", "send 2 8198", "drain 2"});
}

TEST_CASE_FIXTURE(Fanned, "N-7: a cell without an owner holds no handshake up, nor one that loses it meanwhile") {
    owned({eu});
    CHECK(asks(MatchmakerHandshake{}));
    CHECK(says(eu, accepts({})) == Words{"send 2 8193"});
    // Its first owner accepts the matchmaker later, and the matchmaker does not hear of it.
    owned({us});
    CHECK(says(us, accepts({})).empty());

    constexpr ConnectionId second{3, 1};
    fan.opened(second);
    CHECK(fan.asked_all(second, MatchmakerHandshake::code, payload_of(MatchmakerHandshake{})));
    fan.send(eu, second, frame_of(accepts({})));
    CHECK(peers.take().empty());
    fan.owner_lost(us);
    CHECK(peers.take() == Words{"send 3 8193"});
}

TEST_CASE_FIXTURE(Fanned, "N-7: nobody is accepted before any cell has accepted") {
    CHECK(asks(MatchmakerHandshake{}));
    owned({eu});
    fan.owner_lost(eu);
    CHECK(peers.take().empty());
}

TEST_CASE_FIXTURE(Fanned, "N-7: the first refusal of a handshake passes at once") {
    owned({eu, us});
    CHECK(asks(MatchmakerHandshake{}));
    CHECK(says(eu, accepts({})).empty());
    CHECK(says(us, refuses()) == Words{"send 2 8193"});
}

TEST_CASE_FIXTURE(Fanned, "N-7: a cell that refuses later whom others have accepted closes its link") {
    owned({eu});
    CHECK(asks(MatchmakerHandshake{}));
    CHECK(says(eu, accepts({})) == Words{"send 2 8193"});
    owned({us});
    CHECK(says(us, refuses()) == Words{"close 2"});
}

TEST_CASE_FIXTURE(Fanned, "N-7: a second handshake is for one cell, whose refusal passes") {
    welcome();
    CHECK_FALSE(asks(MatchmakerHandshake{}));
    CHECK(says(eu, refuses()) == Words{"send 2 8193"});
}

TEST_CASE_FIXTURE(Fanned, "N-7: of a heartbeat's acknowledgements the first passes") {
    welcome();
    CHECK(says(eu, MatchmakerHeartbeatAck{}) == Words{"send 2 8197"});
    CHECK(says(eu, MatchmakerHeartbeatAck{}) == Words{"send 2 8197"});
    CHECK(says(us, MatchmakerHeartbeatAck{}).empty());
    CHECK(says(us, MatchmakerHeartbeatAck{}).empty());
    CHECK(says(us, MatchmakerHeartbeatAck{}) == Words{"send 2 8197"});
    CHECK(says(eu, MatchmakerHeartbeatAck{}).empty());
}

TEST_CASE_FIXTURE(Fanned, "N-7: a cancel is answered by the cell that knows the lobby") {
    welcome();
    CHECK(asks(CancelMatch{LobbyId(1)}));
    CHECK(says(us, aborted(1, Reason::match_not_found)).empty());
    CHECK(says(eu, aborted(1, Reason::cancelled)) == Words{"send 2 8198"});
    // The other way round, too.
    CHECK(asks(CancelMatch{LobbyId(2)}));
    CHECK(says(us, aborted(2, Reason::cancelled)) == Words{"send 2 8198"});
    CHECK(says(eu, aborted(2, Reason::match_not_found)).empty());
}

TEST_CASE_FIXTURE(Fanned, "N-7: a cancel of a lobby that no cell knows is answered once, when all have said so") {
    welcome();
    CHECK(asks(CancelMatch{LobbyId(1)}));
    CHECK(says(us, aborted(1, Reason::match_not_found)).empty());
    CHECK(says(eu, aborted(1, Reason::match_not_found)) == Words{"send 2 8198"});
    // Events that nobody asked for pass.
    CHECK(says(eu, aborted(1, Reason::server_lost)) == Words{"send 2 8198"});
    CHECK(says(eu, MatchEventNotice{LobbyId(1), MatchEventKind::ended, {}}) == Words{"send 2 8198"});
}

TEST_CASE_FIXTURE(Fanned, "N-7: a list of players is taken when all cells took it, and refused by the first refusal") {
    welcome();
    CHECK(asks(list(1)));
    CHECK(asks(list(2)));
    CHECK(says(us, taken(1)).empty());
    CHECK(says(us, taken(2)).empty());
    CHECK(says(eu, taken(1)) == Words{"send 2 8201"});
    CHECK(says(eu, not_taken(2)) == Words{"send 2 8201"});
    CHECK(asks(list(3)));
    CHECK(says(us, not_taken(3)) == Words{"send 2 8201"});
    CHECK(says(eu, taken(3)).empty());
}

TEST_CASE_FIXTURE(Fanned, "N-7: a matchmaker that waits for too much is closed") {
    welcome();
    for (std::size_t i = 0; i < MatchmakerFan::waiting_max; ++i) CHECK(asks(CancelMatch{LobbyId(1)}));
    CHECK(peers.take().empty());
    CHECK(asks(CancelMatch{LobbyId(1)}));
    CHECK(peers.take() == Words{"close 2"});
    fan.closed(asker);
    CHECK_FALSE(fan.knows(asker));
    CHECK(says(eu, aborted(1, Reason::cancelled)).empty());
}

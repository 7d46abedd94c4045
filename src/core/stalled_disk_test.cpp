// While the disk stalls, nothing that peers say over and over takes memory without bound, and each is answered in the
// end.
#include <cstddef>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/core_fixture.h"

using namespace muster;
using namespace muster::testing;

namespace {

// Lobby 1 runs on the server, and the store answers nothing from now on.
struct StalledDisk : CoreWorld {
    StalledDisk() { store.holding = true; }

    // All in one pass.
    template <class M>
    void say(ConnectionId from, const std::vector<M>& messages) {
        in_pass([&](const Pass& pass) {
            std::vector<std::byte> frame;
            for (const M& message : messages) {
                frame.clear();
                encode(message, default_byte_order(M::port), frame);
                core->frame(pass, from, PeerFrame{M::code, std::span(frame).subspan(4), pass.now, 0});
            }
        });
    }
    template <class M>
    void say(ConnectionId from, const M& message, int times) {
        say(from, std::vector<M>(static_cast<std::size_t>(times), message));
    }
    // One after the other, so often, each in the same pass as all others.
    template <class M, class N>
    void say_by_turns(ConnectionId from, const M& one, const N& other, int times) {
        in_pass([&](const Pass& pass) {
            std::vector<std::byte> first;
            std::vector<std::byte> second;
            encode(one, default_byte_order(M::port), first);
            encode(other, default_byte_order(N::port), second);
            for (int i = 0; i < times; ++i) {
                core->frame(pass, from, PeerFrame{M::code, std::span(first).subspan(4), pass.now, 0});
                core->frame(pass, from, PeerFrame{N::code, std::span(second).subspan(4), pass.now, 0});
            }
        });
    }

    // What is kept for peers that wait.
    struct Held {
        std::size_t answers = 0;
        std::size_t timers = 0;
        std::size_t promises = 0;  // and records
        bool operator==(const Held&) const = default;
    };
    Held held() {
        return {core->replies().size(), loop.timers().size(),
                core->ledger().records_waiting() + core->ledger().records_in_flight()};
    }
    // The oldest batch is durable.
    void answer_one() {
        in_pass([this](const Pass& pass) { core->store_outcome(pass, store.answer_next()); });
    }
    ReadyForMatch ready() const { return {server.id, match.lobby, MatchTokenText(match.token)}; }
    std::size_t frames(ConnectionId link) { return links.peers[link].frames.size(); }

    static constexpr int often = 50'000;  // 25 s at a game server's rate

    TestServer server = join(*this, 7001);
    ConnectionId matchmaker = join_matchmaker(*this);
    TestMatch match = allocate(*this, matchmaker, server, 1);
};

}  // namespace

TEST_CASE_FIXTURE(StalledDisk, "fault 5, A-10: reports that are repeated while the disk stalls wait with the first") {
    say(server.link, ready(), 1);
    const Held first = held();
    say(server.link, ready(), often);
    CHECK(held() == first);
    say(server.link, MatchEndedReport{server.id, match.lobby}, 1);
    const Held second = held();
    say(server.link, MatchEndedReport{server.id, match.lobby}, often);
    CHECK(held() == second);
    CHECK(quiet(server.link));
    commit();
    REQUIRE(frames(server.link) == 2 * (often + 1));
    for (int i = 0; i <= often; ++i) REQUIRE(error_of(next<ReadyForMatchResponse>(server.link)) == "");
    for (int i = 0; i <= often; ++i) REQUIRE(error_of(next<MatchResponse>(server.link)) == "");
    CHECK(core->replies().size() == 0);
}

TEST_CASE_FIXTURE(StalledDisk, "fault 5, A-7: repeated reports are all answered after 25 s, and wait anew after that") {
    say(server.link, MatchEndedReport{server.id, match.lobby}, 1'000);
    advance(25s);
    REQUIRE(frames(server.link) == 1'000);
    for (int i = 0; i < 1'000; ++i) REQUIRE(error_of(next<MatchResponse>(server.link)) == "Store unavailable");
    CHECK(core->replies().size() == 0);
    say(server.link, MatchEndedReport{server.id, match.lobby}, 1'000);
    CHECK(core->replies().size() == 1);
    commit();
    REQUIRE(frames(server.link) == 1'000);
    CHECK(error_of(next<MatchResponse>(server.link)) == "");
}

TEST_CASE_FIXTURE(StalledDisk, "W-8: reports by turns are answered in the order asked") {
    say_by_turns(server.link, ready(), MatchStartedReport{server.id, match.lobby}, 20);
    CHECK(quiet(server.link));
    commit();
    for (int i = 0; i < 20; ++i) {
        CHECK(error_of(next<ReadyForMatchResponse>(server.link)) == "");
        CHECK(error_of(next<MatchResponse>(server.link)) == "");
    }
    CHECK(quiet(server.link));
}

TEST_CASE_FIXTURE(StalledDisk,
                  "W-7, fault 5: a server that makes too many answers wait is closed, and frees what it held") {
    const TestServer other = join(*this, 7002);
    const Held before = held();
    const auto started = MatchStartedReport{server.id, match.lobby};
    const int half = static_cast<int>(Replies::behind_of_server_max) / 2;
    say_by_turns(server.link, ready(), started, half);
    CHECK(core->replies().size() == Replies::behind_of_server_max);
    CHECK(held().timers <= before.timers + ServerPort::repeats_beside_max + 1);
    CHECK(held().promises <= before.promises + ServerPort::repeats_beside_max + 20);
    CHECK(quiet(server.link));
    say_by_turns(server.link, ready(), started, often);
    CHECK(next<ServerError>(server.link).error == "Too many messages");
    CHECK(quiet(server.link));
    CHECK(closed(server.link));
    CHECK(core->replies().size() == 0);
    CHECK(state_of(*this, server).status() == ServerStatus::offline);
    // Nobody else notices, and the match goes on when its server is back.
    CHECK(heartbeat_error(*this, other, beat_of(other)) == "");
    disconnect(server.link);
    const TestServer back = join(*this, 7001);
    CHECK(core->matches().find(match.lobby) != nullptr);
    commit();
    send(back.link, MatchStartedReport{back.id, match.lobby});
    commit();
    CHECK(error_of(next<MatchResponse>(back.link)) == "");
}

TEST_CASE_FIXTURE(StalledDisk, "fault 5, X-4: of reports about matches of the past only so many wait, the others not") {
    store.holding = false;
    const int past = static_cast<int>(ServerPort::repeats_beside_max) + 100;
    std::vector<MatchEndedReport> reports;
    for (int lobby = 2; lobby < 2 + past; ++lobby) {
        allocate(*this, matchmaker, server, lobby);
        REQUIRE(report_error<MatchEndedReport>(*this, server, lobby) == "");
        forget_frames(matchmaker);
        reports.push_back({server.id, LobbyId(lobby)});
    }
    store.holding = true;
    say(server.link, reports);
    CHECK(core->replies().size() == ServerPort::repeats_beside_max);
    REQUIRE(frames(server.link) == 100);
    for (int i = 0; i < 100; ++i) CHECK(error_of(next<MatchResponse>(server.link)) == "Store unavailable");
    // News are no repetition: they wait in any case.
    send(server.link, MatchStartedReport{server.id, match.lobby});
    CHECK(quiet(server.link));
    commit();
    REQUIRE(frames(server.link) == ServerPort::repeats_beside_max + 1);
    for (std::size_t i = 0; i <= ServerPort::repeats_beside_max; ++i)
        REQUIRE(error_of(next<MatchResponse>(server.link)) == "");
}

TEST_CASE_FIXTURE(StalledDisk, "fault 5, A-11: a cancel that is repeated while the disk stalls takes no memory") {
    say(matchmaker, CancelMatch{match.lobby}, 2);
    const Held first = held();
    say(matchmaker, CancelMatch{match.lobby}, often);
    CHECK(held() == first);
    CHECK(quiet(matchmaker));
    commit();
    REQUIRE(frames(matchmaker) == often + 2);
    CHECK(next<MatchEventNotice>(matchmaker).reason == "Cancelled");
    for (int i = 0; i <= often; ++i) REQUIRE(next<MatchEventNotice>(matchmaker).reason == "Match not found");
}

TEST_CASE_FIXTURE(StalledDisk, "fault 5, A-8: a request that is repeated while the disk stalls takes no memory") {
    say(matchmaker, request_for(2), static_cast<int>(Matches::asks_max) + 1);
    const std::size_t first = core->replies().size();
    say(matchmaker, request_for(2), often);
    CHECK(core->replies().size() == first);
    CHECK(quiet(matchmaker));
    commit();
    send(server.link, AllocateMatchAck{true, next<AllocateMatch>(server.link).lobby});
    REQUIRE(frames(matchmaker) == often + Matches::asks_max + 1);
    for (std::size_t i = 0; i < Matches::asks_max; ++i) CHECK(error_of(next<AllocationResponse>(matchmaker)) == "");
    for (int i = 0; i <= often; ++i) REQUIRE(error_of(next<AllocationResponse>(matchmaker)) == "Server busy");
}

TEST_CASE_FIXTURE(StalledDisk, "W-7, fault 5: a matchmaker that makes too many answers wait is closed") {
    say_by_turns(matchmaker, CancelMatch{match.lobby}, request_for(1),
                 static_cast<int>(Replies::behind_of_matchmaker_max) / 2);
    CHECK(core->replies().size() == Replies::behind_of_matchmaker_max);
    CHECK_FALSE(closed(matchmaker));
    say_by_turns(matchmaker, CancelMatch{match.lobby}, request_for(1), 1);
    CHECK(closed(matchmaker));
    CHECK(core->replies().size() == 0);
}

TEST_CASE_FIXTURE(StalledDisk, "fault 5, F-5: wishes to drain share two promises, and each is answered") {
    say(server.link, SetDraining{server.id, true}, 1);
    const Held first = held();
    say(server.link, SetDraining{server.id, true}, often);
    CHECK(held() == first);
    say_by_turns(server.link, SetDraining{server.id, false}, SetDraining{server.id, true}, 100);
    CHECK(quiet(server.link));
    // What the first one wished is durable; what the others did is not.
    answer_one();
    CHECK(next<ServerStatusNotice>(server.link).status == ServerStatus::draining);
    CHECK(quiet(server.link));
    commit();
    commit();
    REQUIRE(frames(server.link) == often + 200);
    while (!quiet(server.link)) REQUIRE(next<ServerStatusNotice>(server.link).status == ServerStatus::draining);

    send(server.link, SetDraining{server.id, false});
    disconnect(server.link);
    commit();
    CHECK(quiet(server.link));  // nobody is left to be told
}

TEST_CASE_FIXTURE(StalledDisk, "fault 5, A-7: acknowledgements of no match wait up to a limit, each lobby once") {
    const Held before = held();
    std::vector<AllocateMatchAck> acks;
    for (int round = 0; round < 20; ++round) {
        for (int lobby = 1'000; lobby < 1'300; ++lobby) acks.push_back({true, LobbyId(lobby)});
    }
    say(server.link, acks);
    CHECK(held().promises == before.promises + Offers::late_of_link_max);
    CHECK(frames(server.link) == 20 * (300 - Offers::late_of_link_max));
    forget_frames(server.link);
    commit();
    CHECK(frames(server.link) == Offers::late_of_link_max);
    CHECK(next<AbortMatch>(server.link).lobby == LobbyId(1'000));
}

TEST_CASE_FIXTURE(StalledDisk, "fault 5, P-1: logins that wait for the disk go with their links, and are limited") {
    for (std::size_t i = 0; i < Accounts::waiting_max; ++i) {
        const ConnectionId link = connect(Port::players);
        send(link, PlayerLogin{"ann", "", ""});
        send(link, PingRequest{});
        CHECK(core->logins_waiting() == 1);
        CHECK(quiet(link));
        disconnect(link);
        CHECK(core->logins_waiting() == 0);
    }
    const ConnectionId link = connect(Port::players);
    send(link, PlayerLogin{"ann", "", ""});
    CHECK(error_of(next<PlayerLoginResponse>(link)) == "Store unavailable");
    commit();
    const ConnectionId later = connect(Port::players);
    send(later, PlayerLogin{"ann", "", ""});
    CHECK(error_of(next<PlayerLoginResponse>(later)) == "");
}

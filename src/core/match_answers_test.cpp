// When an answer leaves, who gets it, and what becomes of an allocation that cannot be answered in time.
#include <string>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "core/core_fixture.h"

using namespace muster;
using namespace muster::testing;

namespace {

// Lobby 1 waits for its server's answer; lobby 2 has its success.
struct OneIsSlow : CoreWorld {
    OneIsSlow() {
        send(matchmaker, request_for(1));
        send(matchmaker, request_for(2));
        REQUIRE(next<AllocateMatch>(slow.link).lobby == LobbyId(1));
        REQUIRE(next<AllocateMatch>(quick.link).lobby == LobbyId(2));
        send(quick.link, AllocateMatchAck{true, LobbyId(2)});
    }

    TestServer slow = join(*this, 7001, eu, 1);
    TestServer quick = join(*this, 7002, eu, 1);
    ConnectionId matchmaker = join_matchmaker(*this);
};

// The verdicts on the operator's questions, in the order they came.
struct Operating : CoreWorld {
    Operating() {
        loop.on_flush([this](const Pass&) {
            for (const AnsweredQuestion& one : core->take_answered()) {
                answers.push_back(std::to_string(one.number) + ": " +
                                  (one.verdict ? "done" : std::string(text(one.verdict.error()))));
            }
        });
    }
    void ask(std::uint64_t number, std::int32_t lobby) {
        in_pass([this, number, lobby](const Pass& pass) { core->allocate(pass, {number}, request_for(lobby)); });
    }
    std::vector<std::string> answers;
};

}  // namespace

TEST_CASE_FIXTURE(OneIsSlow, "W-8: one slow request holds up no other, and each answer names its lobby") {
    const auto quick_one = next<AllocationResponse>(matchmaker);
    CHECK(std::get<AllocationResponse::Accepted>(quick_one.answer).lobby == LobbyId(2));
    send(matchmaker, request_for(-1));
    CHECK(error_of(next<AllocationResponse>(matchmaker)) == "Invalid match lobby ID");
    send(slow.link, AllocateMatchAck{true, LobbyId(1)});
    const auto slow_one = next<AllocationResponse>(matchmaker);
    CHECK(std::get<AllocationResponse::Accepted>(slow_one.answer).lobby == LobbyId(1));
}

TEST_CASE_FIXTURE(OneIsSlow, "fault 63, L-8: while the process stands still 25 s pass, and the request is failed") {
    CHECK(error_of(next<AllocationResponse>(matchmaker)) == "");
    clock.advance(30s);
    send(slow.link, AllocateMatchAck{true, LobbyId(1)});
    CHECK(error_of(next<AllocationResponse>(matchmaker)) != "");
    CHECK(next<AbortMatch>(slow.link).lobby == LobbyId(1));
    CHECK(core->fleet().find(slow.id)->load() == 0);
    CHECK(core->matches().find(LobbyId(2)) != nullptr);
}

TEST_CASE_FIXTURE(CoreWorld, "fault 63, A-9: what is heard to be durable after 25 s is a failure, and is taken back") {
    const TestServer server = join(*this, 7777);
    const ConnectionId matchmaker = join_matchmaker(*this);
    store.holding = true;
    send(matchmaker, request_for(1));
    // After a gap the store's word comes before the timer of the request.
    clock.advance(25s);
    commit();
    CHECK(error_of(next<AllocationResponse>(matchmaker)) == "Store unavailable");
    CHECK(quiet(server.link));
    CHECK(core->fleet().find(server.id)->load() == 0);
}

TEST_CASE_FIXTURE(CoreWorld, "W-8: what is asked about one lobby is answered in the order asked") {
    const TestServer server = join(*this, 7777);
    const ConnectionId matchmaker = join_matchmaker(*this);
    send(matchmaker, request_for(1));
    send(matchmaker, MatchPlayers{LobbyId(1), {{AccountId(4)}}});
    CHECK(quiet(matchmaker));  // the list is durable, its answer waits for the request's
    send(matchmaker, MatchmakerHeartbeat{});
    next<MatchmakerHeartbeatAck>(matchmaker);
    send(server.link, AllocateMatchAck{true, next<AllocateMatch>(server.link).lobby});
    CHECK(error_of(next<AllocationResponse>(matchmaker)) == "");
    CHECK(error_of(next<MatchPlayersResponse>(matchmaker)) == "");

    store.holding = true;
    send(matchmaker, MatchPlayers{LobbyId(1), {{AccountId(5)}}});
    send(matchmaker, CancelMatch{LobbyId(1)});
    CHECK(quiet(matchmaker));
    commit();
    CHECK(error_of(next<MatchPlayersResponse>(matchmaker)) == "");
    CHECK(next<MatchEventNotice>(matchmaker).reason == "Cancelled");
}

TEST_CASE_FIXTURE(Operating,
                  "A-8: the operator asks as a matchmaker does, and a lobby asked for twice takes one server") {
    const TestServer server = join(*this, 7777);
    ask(1, 5);
    ask(2, 5);
    CHECK(answers.empty());
    send(server.link, AllocateMatchAck{true, next<AllocateMatch>(server.link).lobby});
    CHECK(answers == std::vector<std::string>{"1: done", "2: done"});
    ask(3, 5);
    CHECK(answers.back() == "3: done");
    ask(4, -1);
    CHECK(answers.back() == "4: Invalid match lobby ID");
    CHECK(quiet(server.link));
    CHECK(core->fleet().find(server.id)->held == 1);
    CHECK(core->matchmakers().size() == 0);
    send(server.link, MatchStartedReport{server.id, LobbyId(5)});
    CHECK(core->matches().find(LobbyId(5))->record.untold_event == 0);  // there is nobody to be told
}

TEST_CASE_FIXTURE(Operating, "A-1: no matchmaker can take the operator's name, and none finds its own taken by it") {
    const ConnectionId imitator = connect(Port::matchmakers);
    send(imitator, MatchmakerHandshake{"matchmaker-secret", MatchmakerIdText(http_matchmaker_id("")), {{eu}}});
    CHECK(error_of(next<MatchmakerHandshakeResponse>(imitator)) == "Invalid Chat Server ID");
    (void)join_matchmaker(*this, "http");
    (void)join(*this, 7777);
    ask(1, 5);
    const ConnectionId other = join_matchmaker(*this, "other");
    send(other, request_for(5));
    CHECK(error_of(next<AllocationResponse>(other)) == "Invalid match lobby ID");
}

TEST_CASE_FIXTURE(CoreWorld, "A-11: an operator's abort of a request in flight is its refusal, sent or not") {
    const TestServer server = join(*this, 7777);
    const ConnectionId matchmaker = join_matchmaker(*this);
    store.holding = true;
    for (const bool sent : {false, true}) {
        send(matchmaker, request_for(1));
        if (sent) commit();
        in_pass([this](const Pass& pass) { CHECK(core->abort_match(pass, LobbyId(1), "Maintenance")); });
        CHECK(error_of(next<AllocationResponse>(matchmaker)) == "Allocation cancelled");
        if (sent) {
            CHECK(next<AllocateMatch>(server.link).lobby == LobbyId(1));
            CHECK(next<AbortMatch>(server.link).lobby == LobbyId(1));
        }
        CHECK(core->fleet().find(server.id)->load() == 0);
        commit();
        CHECK(quiet(server.link));
    }
    CHECK(quiet(matchmaker));
}

TEST_CASE_FIXTURE(CoreWorld,
                  "X-3, A-11: an offer that waits for the disk is withdrawn by cancel and by the end, unheard") {
    const TestServer server = join(*this, 7777);
    const ConnectionId matchmaker = join_matchmaker(*this);
    store.holding = true;
    for (const std::int32_t lobby : {1, 2}) send(matchmaker, request_for(lobby));
    send(matchmaker, CancelMatch{LobbyId(1)});
    CHECK(error_of(next<AllocationResponse>(matchmaker)) == "Allocation cancelled");
    in_pass([this](const Pass& pass) { core->shut_down(pass); });
    CHECK(error_of(next<AllocationResponse>(matchmaker)) == "Server shutting down");
    CHECK(quiet(matchmaker));
    commit();
    CHECK(next<MatchEventNotice>(matchmaker).reason == "Cancelled");  // a yes is durable
    CHECK(quiet(matchmaker));
    CHECK(quiet(server.link));
    CHECK(core->fleet().find(server.id)->load() == 0);
}

TEST_CASE_FIXTURE(CoreWorld,
                  "A-10, fault 64: what a server said of a match that moves on to another is not told of the other") {
    const TestServer first = join(*this, 5000);
    const ConnectionId matchmaker = join_matchmaker(*this);
    send(matchmaker, request_for(1));
    const auto offer = next<AllocateMatch>(first.link);
    send(first.link, ReadyForMatch{first.id, offer.lobby, offer.token});  // it never acknowledged
    CHECK(error_of(next<ReadyForMatchResponse>(first.link)) == "Match not found");
    const TestServer second = join(*this, 5001);
    send(first.link, ServerGoodbye{first.id});
    CHECK(next<AllocateMatch>(second.link).lobby == offer.lobby);
    send(second.link, AllocateMatchAck{true, offer.lobby});
    CHECK(error_of(next<AllocationResponse>(matchmaker)) == "");
    CHECK(quiet(matchmaker));  // the second is not ready
    CHECK(core->matches().find(offer.lobby)->record.state == MatchState::allocated);
    CHECK(core->matches().find(offer.lobby)->record.ready_at == UnixMs{});
}

TEST_CASE_FIXTURE(
    CoreWorld, "fault 64, F-9: an offer moves on when its server is removed, and its token lets nobody in any more") {
    const TestServer first = join(*this, 7001);
    const ConnectionId matchmaker = join_matchmaker(*this);
    send(matchmaker, request_for(1));
    const auto offer = next<AllocateMatch>(first.link);
    const TestServer second = join(*this, 7002);
    send(first.link, ServerGoodbye{first.id});
    const auto other = next<AllocateMatch>(second.link);
    CHECK(other.token != offer.token);
    send(second.link, AllocateMatchAck{true, other.lobby});
    const auto answer = next<AllocationResponse>(matchmaker);
    REQUIRE(error_of(answer) == "");
    CHECK(std::get<AllocationResponse::Accepted>(answer.answer).server == second.id);
    const auto validated = [&](const MatchTokenText& token) {
        send(second.link, ValidateToken{second.id, LobbyId(1), AccountId(7), token});
        return error_of(next<ValidateTokenResponse>(second.link));
    };
    CHECK(validated(offer.token) == "Invalid match token");
    CHECK(validated(other.token) == "");
    // Should the first have taken it all the same, it hears so when it is back.
    const TestServer back = join(*this, 7001);
    CHECK(next<AbortMatch>(back.link).lobby == LobbyId(1));
}

TEST_CASE_FIXTURE(CoreWorld,
                  "A-9, F-6, fault 65: what an earlier server may hold is owed its abort before the next is asked") {
    const TestServer first = join(*this, 7001);
    const TestServer second = join(*this, 7002);
    const ConnectionId matchmaker = join_matchmaker(*this);
    send(matchmaker, request_for(1));
    next<AllocateMatch>(first.link);
    store.holding = true;
    advance(5s);
    CHECK(next<AbortMatch>(first.link).lobby == LobbyId(1));
    CHECK(quiet(second.link));
    commit();
    const auto is_owed = [](const Record& record) {
        const auto* owed = std::get_if<AbortOwed>(&record);
        return owed && owed->port == 7001 && owed->lobby == LobbyId(1);
    };
    CHECK(std::any_of(store.durable.begin(), store.durable.end(), is_owed));
    CHECK(next<AllocateMatch>(second.link).lobby == LobbyId(1));
}

TEST_CASE_FIXTURE(CoreWorld,
                  "A-10, W-8: an event waits for the 2003 that waits for an earlier answer about the lobby") {
    const TestServer server = join(*this, 7777);
    const ConnectionId before = join_matchmaker(*this);
    send(before, request_for(1));
    const auto offer = next<AllocateMatch>(server.link);
    disconnect(before);
    const ConnectionId matchmaker = join_matchmaker(*this);
    store.holding = true;
    send(matchmaker, MatchPlayers{LobbyId(1), {{AccountId(4)}}});
    send(matchmaker, request_for(1));  // joins; its answer comes after the list's
    send(server.link, AllocateMatchAck{true, offer.lobby});
    send(server.link, ReadyForMatch{server.id, offer.lobby, offer.token});
    CHECK(quiet(matchmaker));
    commit();
    CHECK(error_of(next<MatchPlayersResponse>(matchmaker)) == "");
    CHECK(error_of(next<AllocationResponse>(matchmaker)) == "");
    CHECK(next<MatchEventNotice>(matchmaker).event == MatchEventKind::ready);
}

TEST_CASE_FIXTURE(CoreWorld, "A-10, W-8: an answer that is asked for again, and waits, holds up no event") {
    const TestServer server = join(*this, 7777);
    const ConnectionId matchmaker = join_matchmaker(*this);
    send(matchmaker, request_for(1));
    const auto offer = next<AllocateMatch>(server.link);
    send(server.link, AllocateMatchAck{true, offer.lobby});
    CHECK(error_of(next<AllocationResponse>(matchmaker)) == "");
    store.holding = true;
    send(matchmaker, MatchPlayers{LobbyId(1), {{AccountId(4)}}});
    send(matchmaker, request_for(1));  // its answer comes after the list's
    send(server.link, ReadyForMatch{server.id, offer.lobby, offer.token});
    CHECK(next<MatchEventNotice>(matchmaker).event == MatchEventKind::ready);
    CHECK(quiet(matchmaker));
    commit();
    CHECK(error_of(next<MatchPlayersResponse>(matchmaker)) == "");
    CHECK(error_of(next<AllocationResponse>(matchmaker)) == "");
}

TEST_CASE_FIXTURE(CoreWorld,
                  "X-4, A-8, fault 4: an allocation that the disk refuses is withdrawn, and may be asked for again") {
    const TestServer server = join(*this, 7777);
    const ConnectionId matchmaker = join_matchmaker(*this);
    store.fault = StoreFault::full;
    send(matchmaker, request_for(1));
    CHECK(error_of(next<AllocationResponse>(matchmaker)) == "Store unavailable");
    CHECK(quiet(server.link));  // it never heard of it
    CHECK(core->fleet().find(server.id)->load() == 0);
    store.fault = StoreFault::none;
    advance(2s);
    allocate(*this, matchmaker, server, 1);
}

TEST_CASE_FIXTURE(CoreWorld,
                  "A-9, fault 4: a yes is answered although the disk is full by then, since the offer is on it") {
    const TestServer server = join(*this, 7777);
    const ConnectionId matchmaker = join_matchmaker(*this);
    send(matchmaker, request_for(1));
    const auto offer = next<AllocateMatch>(server.link);
    store.fault = StoreFault::full;
    send(server.link, AllocateMatchAck{true, offer.lobby});
    CHECK(error_of(next<AllocationResponse>(matchmaker)) == "");
    store.fault = StoreFault::none;
    advance(2s);
    const auto is_allocated = [](const Record& record) {
        const auto* match = std::get_if<MatchRecord>(&record);
        return match && match->state == MatchState::allocated;
    };
    CHECK(std::any_of(store.durable.begin(), store.durable.end(), is_allocated));
}

TEST_CASE_FIXTURE(CoreWorld, "A-10: an event for a matchmaker that has had our last word is kept until it is back") {
    const TestServer server = join(*this, 7777);
    const ConnectionId matchmaker = join_matchmaker(*this);
    const TestMatch match = allocate(*this, matchmaker, server, 1);
    send_raw(matchmaker, 0x7777, {});  // breaks the protocol: closed, and the network has not told of it yet
    REQUIRE(closed(matchmaker));
    send(server.link, MatchStartedReport{server.id, match.lobby});
    disconnect(matchmaker);
    const ConnectionId back = join_matchmaker(*this);
    CHECK(next<MatchEventNotice>(back).event == MatchEventKind::started);
}

#include <cctype>
#include <regex>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "core/core_fixture.h"
#include "core/match_token.h"

using namespace muster;
using namespace muster::testing;

namespace {

struct TokenWorld : CoreWorld {
    explicit TokenWorld(std::int8_t players = 10) {
        server = join(*this, 7777);
        matchmaker = join_matchmaker(*this);
        send(matchmaker, request_for(1, eu, players));
        token = next<AllocateMatch>(server.link).token.string();
        send(server.link, AllocateMatchAck{true, LobbyId(1)});
        REQUIRE(error_of(next<AllocationResponse>(matchmaker)) == "");
    }

    std::string validate(std::int32_t account, std::string_view with, std::int32_t lobby = 1) {
        return validate(server, account, with, lobby);
    }
    std::string validate(const TestServer& by, std::int32_t account, std::string_view with, std::int32_t lobby = 1) {
        send(by.link, ValidateToken{by.id, LobbyId(lobby), AccountId(account), MatchTokenText(with)});
        const auto answer = next<ValidateTokenResponse>(by.link);
        std::visit([&](const auto& form) { CHECK(form.account == AccountId(account)); }, answer.answer);
        return error_of(answer);
    }
    void stay(Duration time) {
        for (const Time end = clock.now() + time; clock.now() < end;) {
            advance(std::min<Duration>(10s, end - clock.now()));
            send(server.link, beat_of(server, 2));
            forget_frames(server.link);
        }
    }

    TestServer server;
    ConnectionId matchmaker;
    std::string token;
};

}  // namespace

TEST_CASE("K-1: a token is MATCH, the lobby, a random version 4 guid and the Unix seconds") {
    SystemEntropy entropy;
    const std::regex form("MATCH_12345_[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}_1705123456");
    std::set<std::string> tokens;
    for (int i = 0; i < 1'000; ++i) {
        const std::string token = make_match_token(entropy, LobbyId(12345), UnixMs{1'705'123'456'789});
        CHECK(std::regex_match(token, form));
        CHECK(tokens.insert(token).second);
    }
}

TEST_CASE("K-1: comparing takes equal lengths and equal bytes") {
    CHECK(same_text("abc", "abc"));
    CHECK_FALSE(same_text("abc", "abd"));
    CHECK_FALSE(same_text("abc", "abcd"));
    CHECK(same_text("", ""));
}

TEST_CASE_FIXTURE(TokenWorld, "K-2: each account once, at most player_count of them") {
    TokenWorld world(3);
    CHECK(world.validate(1, world.token) == "");
    CHECK(world.validate(1, world.token) == "Match token already used");
    CHECK(world.validate(2, world.token) == "");
    CHECK(world.validate(3, world.token) == "");
    CHECK(world.validate(4, world.token) == "Match token already used");
    CHECK(world.core->matches().figures().tokens_accepted == 3);
}

TEST_CASE_FIXTURE(TokenWorld, "K-2: errors come in their order: server, token, allocated server, expiry, use") {
    const TestServer other = join(*this, 8888);
    CHECK(validate(TestServer{server.link, other.id}, 1, token) == "Server not registered");
    CHECK(validate(other, 1, "MATCH_1_nonsense") == "Invalid match token");
    CHECK(validate(other, 1, token, 2) == "Invalid match token");
    CHECK(validate(other, 1, token) == "Server not allocated to this match");
    CHECK(validate(1, token) == "");
    send(server.link, ReadyForMatch{server.id, LobbyId(1), MatchTokenText(token)});
    forget_frames(server.link);
    stay(119s);
    CHECK(validate(2, token) == "");
    stay(1s);
    CHECK(validate(1, token) == "Match token expired");
    CHECK(validate(3, token) == "Match token expired");
}

TEST_CASE_FIXTURE(TokenWorld, "K-2: a started match takes nobody more, an ended or aborted one knows no token") {
    CHECK(validate(1, token) == "");
    send(server.link, MatchStartedReport{server.id, LobbyId(1)});
    forget_frames(server.link);
    CHECK(validate(2, token) == "Match token already used");
    send(server.link, MatchEndedReport{server.id, LobbyId(1)});
    forget_frames(server.link);
    CHECK(validate(3, token) == "Invalid match token");
}

TEST_CASE_FIXTURE(TokenWorld, "K-2, fault 67: only the exact text passes") {
    std::string upper = token;
    for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    const std::string zeros = "MATCH_01" + token.substr(7);
    for (const std::string& near :
         {upper, token + " ", " " + token, zeros, token.substr(0, token.size() - 1), token + "0", std::string()}) {
        CHECK(validate(5, near) == "Invalid match token");
    }
    CHECK(validate(5, token) == "");
}

TEST_CASE_FIXTURE(TokenWorld, "K-2: an offer that was not acknowledged has a token that lets nobody in") {
    send(matchmaker, request_for(2));
    const auto offer = next<AllocateMatch>(server.link);
    CHECK(validate(1, offer.token.view(), 2) == "Invalid match token");
}

TEST_CASE_FIXTURE(TokenWorld, "K-2: once a list was given only its accounts validate, and a later list replaces it") {
    send(matchmaker, MatchPlayers{LobbyId(1), {{AccountId(7), AccountId(8), AccountId(7)}}});
    CHECK(error_of(next<MatchPlayersResponse>(matchmaker)) == "");
    CHECK(validate(9, token) == "Invalid match token");
    CHECK(validate(7, token) == "");
    send(matchmaker, MatchPlayers{LobbyId(1), {{AccountId(9)}}});
    CHECK(error_of(next<MatchPlayersResponse>(matchmaker)) == "");
    CHECK(validate(8, token) == "Invalid match token");
    CHECK(validate(9, token) == "");
}

TEST_CASE_FIXTURE(TokenWorld, "K-2: a list may come before the request") {
    send(matchmaker, MatchPlayers{LobbyId(2), {{AccountId(7)}}});
    CHECK(error_of(next<MatchPlayersResponse>(matchmaker)) == "");
    const TestMatch second = allocate(*this, matchmaker, server, 2);
    CHECK(validate(8, second.token, 2) == "Invalid match token");
    CHECK(validate(7, second.token, 2) == "");
}

TEST_CASE_FIXTURE(TokenWorld,
                  "K-3: a use is durable before it is answered, and one step: two at once do not both pass") {
    store.holding = true;
    send(server.link, ValidateToken{server.id, LobbyId(1), AccountId(1), MatchTokenText(token)});
    CHECK(quiet(server.link));
    send(server.link, ValidateToken{server.id, LobbyId(1), AccountId(1), MatchTokenText(token)});
    CHECK(quiet(server.link));  // its refusal waits for the answer before it (W-8)
    commit();
    CHECK(error_of(next<ValidateTokenResponse>(server.link)) == "");
    CHECK(error_of(next<ValidateTokenResponse>(server.link)) == "Match token already used");
}

TEST_CASE_FIXTURE(TokenWorld, "K-3, X-4: a use that the disk refuses was none, and works when there is room again") {
    store.fault = StoreFault::full;
    CHECK(validate(1, token) == "Store unavailable");
    CHECK(validate(1, token) == "Store unavailable");
    store.fault = StoreFault::none;
    stay(2s);
    CHECK(validate(1, token) == "");
}

TEST_CASE_FIXTURE(TokenWorld, "K-3: the token is erased from the store when its match is over, and is in no log line") {
    send(server.link, MatchEndedReport{server.id, LobbyId(1)});
    const MatchRecord* last = nullptr;
    for (const Record& record : store.durable) {
        if (const auto* match = std::get_if<MatchRecord>(&record)) last = match;
        if (const auto* event = std::get_if<EventRecord>(&record))
            CHECK(event->fields.find(token) == std::string::npos);
    }
    REQUIRE(last != nullptr);
    CHECK(last->state == MatchState::ended);
    CHECK(last->token.empty());
    CHECK_FALSE(log_lines.has(token));
}

TEST_CASE_FIXTURE(
    TokenWorld, "fault 68: wrong tokens never block the right one, and from the tenth a minute on operators are told") {
    for (int i = 0; i < 9; ++i) CHECK(validate(1, "guess") == "Invalid match token");
    CHECK(events_named("match.wrong_tokens") == 0);
    for (int i = 0; i < 100; ++i) CHECK(validate(1, "guess") == "Invalid match token");
    CHECK(events_named("match.wrong_tokens") == 1);
    CHECK(log_lines.has("Ten wrong match tokens"));
    CHECK(validate(1, token) == "");
    CHECK_FALSE(closed(server.link));
    for (int i = 0; i < 100; ++i) CHECK(validate(1, "guess", 404) == "Invalid match token");
    CHECK(events_named("match.wrong_tokens") == 2);
}

TEST_CASE_FIXTURE(TokenWorld, "K-2, L-8: a token's life runs on while the process stands still") {
    send(server.link, ReadyForMatch{server.id, LobbyId(1), MatchTokenText(token)});
    forget_frames(server.link);
    clock.advance(121s);
    settle();
    CHECK(core->fleet().find(server.id) != nullptr);
    CHECK(validate(1, token) == "Match token expired");
}

namespace {

// Accounts that a restart would find let in, in the order of the commits.
std::set<std::int32_t> let_in_on_disk(const TurnedStore& store) {
    std::set<std::int32_t> accounts;
    for (const Record& record : store.durable) {
        if (const auto* use = std::get_if<TokenUsed>(&record)) accounts.insert(use->account.value);
        if (const auto* release = std::get_if<TokenReleased>(&record)) accounts.erase(release->account.value);
    }
    return accounts;
}

}  // namespace

TEST_CASE(
    "K-3, W-8, fault 5: a use waits 25 s for the disk, and refused then it does not count when it is durable late") {
    TokenWorld world(1);
    world.store.holding = true;
    const auto ask = [&](std::int32_t account) {
        world.send(world.server.link,
                   ValidateToken{world.server.id, LobbyId(1), AccountId(account), MatchTokenText(world.token)});
    };
    ask(1);
    world.send(world.server.link, ReadyForMatch{world.server.id, LobbyId(1), MatchTokenText(world.token)});
    world.advance(24'999ms);
    CHECK(world.quiet(world.server.link));
    world.advance(1ms);
    CHECK(error_of(world.next<ValidateTokenResponse>(world.server.link)) == "Store unavailable");
    CHECK(error_of(world.next<ReadyForMatchResponse>(world.server.link)) == "Store unavailable");
    CHECK(world.core->matches().find(LobbyId(1))->used.empty());

    // Durable after all: nobody is let in by it, now or after a restart.
    world.commit();
    CHECK(world.quiet(world.server.link));
    CHECK(let_in_on_disk(world.store).empty());

    // Its place is free, for itself or for another; and it is let in once.
    world.store.holding = false;
    CHECK(world.validate(1, world.token) == "");
    CHECK(let_in_on_disk(world.store) == std::set<std::int32_t>{1});
    CHECK(world.validate(1, world.token) == "Match token already used");
    CHECK(world.validate(2, world.token) == "Match token already used");
}

TEST_CASE("K-3: who asks again while the refused use is still being written is let in once") {
    TokenWorld world;
    world.store.holding = true;
    const auto ask = [&] {
        world.send(world.server.link,
                   ValidateToken{world.server.id, LobbyId(1), AccountId(1), MatchTokenText(world.token)});
    };
    ask();
    world.advance(25s);
    CHECK(error_of(world.next<ValidateTokenResponse>(world.server.link)) == "Store unavailable");
    ask();
    ask();
    world.commit();
    CHECK(error_of(world.next<ValidateTokenResponse>(world.server.link)) == "");
    CHECK(error_of(world.next<ValidateTokenResponse>(world.server.link)) == "Match token already used");
    CHECK(let_in_on_disk(world.store) == std::set<std::int32_t>{1});
    CHECK(world.core->matches().find(LobbyId(1))->used == std::vector{AccountId(1)});
}

TEST_CASE_FIXTURE(TokenWorld, "K-3, fault 80: that a token was used is not said before its use is durable") {
    store.holding = true;
    const auto ask = [&] {
        send(server.link, ValidateToken{server.id, LobbyId(1), AccountId(1), MatchTokenText(token)});
    };
    ask();
    // The server has lost its link, and asks on a new one.
    disconnect(server.link);
    server = join(*this, 7777);
    ask();
    ask();
    CHECK(quiet(server.link));

    // The use comes to nothing, so nobody was let in by it.
    store.fault = StoreFault::transient;
    commit();
    CHECK(error_of(next<ValidateTokenResponse>(server.link)) == "Store unavailable");
    CHECK(error_of(next<ValidateTokenResponse>(server.link)) == "Store unavailable");
    CHECK(let_in_on_disk(store).empty());

    store.fault = StoreFault::none;
    store.holding = false;
    stay(2s);
    CHECK(validate(1, token) == "");
    CHECK(validate(1, token) == "Match token already used");
}

TEST_CASE_FIXTURE(TokenWorld, "K-3, fault 5: who asks on and on while its use is being written costs no memory") {
    store.holding = true;
    constexpr int asked = 1'000;
    for (int i = 0; i < asked; ++i)
        send(server.link, ValidateToken{server.id, LobbyId(1), AccountId(1), MatchTokenText(token)});
    CHECK(core->replies().size() < 20);
    commit();
    int used = 0;
    int unknown = 0;
    CHECK(error_of(next<ValidateTokenResponse>(server.link)) == "");
    for (int i = 1; i < asked; ++i) {
        const std::string error = error_of(next<ValidateTokenResponse>(server.link));
        used += error == "Match token already used" ? 1 : 0;
        unknown += error == "Store unavailable" ? 1 : 0;
    }
    CHECK(used == 8);
    CHECK(unknown == asked - 1 - used);
}

TEST_CASE("A-9: a match whose only visitor was refused by the disk ends when its token has expired meanwhile") {
    TokenWorld world;
    world.stay(110s);
    world.store.holding = true;
    world.send(world.server.link,
               ValidateToken{world.server.id, LobbyId(1), AccountId(1), MatchTokenText(world.token)});
    world.stay(20s);
    REQUIRE(world.core->matches().find(LobbyId(1)) != nullptr);  // somebody seems to have come
    world.advance(5s);
    CHECK(world.core->matches().find(LobbyId(1)) == nullptr);
    CHECK(error_of(world.next<ValidateTokenResponse>(world.server.link)) == "Store unavailable");
    world.commit();
    CHECK(world.next<AbortMatch>(world.server.link).reason == "Match token expired");
}

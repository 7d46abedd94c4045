#include "core/match_news.h"

#include <set>
#include <vector>

#include <doctest/doctest.h>

#include "core/core_fixture.h"

using namespace muster;
using namespace muster::testing;

namespace {

// The events that the link was sent, taken off it, by lobby.
std::multiset<std::int32_t> told(CoreWorld& world, ConnectionId link) {
    std::multiset<std::int32_t> lobbies;
    while (!world.quiet(link)) lobbies.insert(world.next<MatchEventNotice>(link).lobby.value);
    return lobbies;
}

RecoveredState with_matches_over(std::int32_t count, const char* matchmaker = "chat-1") {
    RecoveredState state;
    state.numbers = {100, 100, 100};
    for (std::int32_t lobby = 1; lobby <= count; ++lobby) {
        MatchRecord match;
        match.lobby = LobbyId(lobby);
        match.matchmaker = matchmaker;
        match.region = CoreWorld::eu;
        match.state = MatchState::ended;
        match.ended_at = UnixMs{VirtualClock().wall().value - count + lobby};
        match.untold_event = 3;
        state.matches.push_back(match);
    }
    return state;
}

std::size_t events_heard_on_disk(const CoreWorld& world) {
    std::size_t count = 0;
    for (const Record& record : world.store.durable) count += std::holds_alternative<EventTold>(record) ? 1 : 0;
    return count;
}

}  // namespace

TEST_CASE_FIXTURE(CoreWorld, "A-10, fault 71: a matchmaker that dies before it reads its events is told them again") {
    const TestServer server = join(*this, 7777);
    const ConnectionId matchmaker = join_matchmaker(*this);
    for (const std::int32_t lobby : {1, 2, 3}) allocate(*this, matchmaker, server, lobby);
    for (const std::int32_t lobby : {1, 2}) send(server.link, MatchStartedReport{server.id, LobbyId(lobby)});
    send(server.link, MatchEndedReport{server.id, LobbyId(2)});
    send(matchmaker, CancelMatch{LobbyId(3)});
    CHECK(told(*this, matchmaker) == std::multiset<std::int32_t>{1, 2, 2, 3});
    disconnect(matchmaker);
    forget_frames(server.link);

    const ConnectionId back = join_matchmaker(*this);
    const auto alive = next<MatchEventNotice>(back);
    CHECK(alive.lobby == LobbyId(1));
    CHECK(alive.event == MatchEventKind::started);
    const auto ended = next<MatchEventNotice>(back);
    CHECK(ended.lobby == LobbyId(2));
    CHECK(ended.event == MatchEventKind::ended);
    const auto cancelled = next<MatchEventNotice>(back);
    CHECK(cancelled.lobby == LobbyId(3));
    CHECK(cancelled.reason == "Cancelled");
    CHECK(quiet(back));

    // A link that stood for ten minutes after it was told has heard what is over; what lives is always told.
    stay(*this, server, back, 11min);
    CHECK(quiet(back));
    CHECK(core->matches().news().size() == 0);
    CHECK(events_heard_on_disk(*this) == 2);
    disconnect(back);
    CHECK(told(*this, join_matchmaker(*this)) == std::multiset<std::int32_t>{1});
}

TEST_CASE("A-10, fault 71: 100,000 lobbies with news arrive whole, each portion when the last has left") {
    CoreWorld world(with_matches_over(100'000));
    world.links.reading = false;
    const ConnectionId matchmaker = join_matchmaker(world);
    world.advance(10s);
    const std::size_t first = world.links.peers[matchmaker].frames.size();
    CHECK(first > 1'000);
    CHECK(first * 11 < 64 * 1024);  // what any link may leave unread
    world.links.reading = true;
    world.settle();
    const std::multiset<std::int32_t> lobbies = told(world, matchmaker);
    CHECK(lobbies.size() == 100'000);
    CHECK(std::set<std::int32_t>(lobbies.begin(), lobbies.end()).size() == 100'000);
}

TEST_CASE("A-10, fault 71: a link that is lost in the middle of its news gets all of them after the next handshake") {
    CoreWorld world(with_matches_over(20'000));
    world.links.reading = false;
    const ConnectionId lost = join_matchmaker(world);
    world.disconnect(lost);
    world.links.reading = true;
    CHECK(told(world, join_matchmaker(world)).size() == 20'000);
}

TEST_CASE("A-10: events of a matchmaker that never returns are kept for a day, and so many in all") {
    constexpr auto most = static_cast<std::int32_t>(MatchNews::lobbies_max);
    CoreWorld world(with_matches_over(most + 10, "gone"));
    CHECK(world.core->matches().news().size() == MatchNews::lobbies_max);
    CHECK(world.core->matches().news().dropped() == 10);
    world.advance(25h);
    CHECK(world.core->matches().news().size() == 0);
    CHECK(world.core->matches().news().dropped() == MatchNews::lobbies_max + 10);
    CHECK(events_heard_on_disk(world) == MatchNews::lobbies_max + 10);
}

TEST_CASE_FIXTURE(CoreWorld, "A-10, fault 18: a date that is days ahead for a while lets no event be forgotten") {
    const TestServer server = join(*this, 7777);
    const ConnectionId matchmaker = join_matchmaker(*this);
    allocate(*this, matchmaker, server, 1);
    send(server.link, MatchEndedReport{server.id, LobbyId(1)});
    CHECK(told(*this, matchmaker) == std::multiset<std::int32_t>{1});
    disconnect(matchmaker);
    clock.step_wall(200h);
    in_pass([&](const Pass& pass) { core->observe_wall(pass, clock.wall()); });
    advance(2min);
    clock.step_wall(-200h);
    in_pass([&](const Pass& pass) { core->observe_wall(pass, clock.wall()); });
    advance(2min);
    CHECK(told(*this, join_matchmaker(*this)) == std::multiset<std::int32_t>{1});
}

TEST_CASE_FIXTURE(CoreWorld, "A-10: an event waits for the answer of its lobby, and what is over is told without one") {
    const TestServer server = join(*this, 7777);
    const ConnectionId matchmaker = join_matchmaker(*this);
    for (const std::int32_t lobby : {1, 2}) {
        send(matchmaker, request_for(lobby));
        disconnect(matchmaker);
    }
    for (const std::int32_t lobby : {1, 2}) {
        const auto offer = next<AllocateMatch>(server.link);
        send(server.link, AllocateMatchAck{true, offer.lobby});
        send(server.link, ReadyForMatch{server.id, offer.lobby, offer.token});
        next<ReadyForMatchResponse>(server.link);
        if (lobby == 1) break;
    }
    const ConnectionId back = join_matchmaker(*this);
    CHECK(quiet(back));  // it has not had the answer
    send(back, request_for(1));
    CHECK(error_of(next<AllocationResponse>(back)) == "");
    CHECK(next<MatchEventNotice>(back).event == MatchEventKind::ready);
}

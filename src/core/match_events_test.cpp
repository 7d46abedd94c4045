// What becomes of a match after its answer, and who hears of it.
#include <doctest/doctest.h>

#include "base/json_fields.h"
#include "core/core_fixture.h"
#include "core/events.h"

using namespace muster;
using namespace muster::testing;

namespace {

std::string ready_error(CoreWorld& world, const TestServer& server, ServerId as, std::int32_t lobby,
                        std::string_view token) {
    world.send(server.link, ReadyForMatch{as, LobbyId(lobby), MatchTokenText(token)});
    return error_of(world.next<ReadyForMatchResponse>(server.link));
}

}  // namespace

TEST_CASE_FIXTURE(CoreWorld,
                  "A-10: READY is checked in the order server, match, allocated server, token, and repeats succeed and "
                  "publish nothing") {
    const TestServer one = join(*this, 7777);
    const TestServer two = join(*this, 7778);
    const ConnectionId matchmaker = join_matchmaker(*this);
    const TestMatch match = allocate(*this, matchmaker, one, 1);
    CHECK(ready_error(*this, two, one.id, 404, "x") == "Server not registered");
    CHECK(ready_error(*this, two, two.id, 404, "x") == "Match not found");
    CHECK(ready_error(*this, two, two.id, 1, "x") == "Server not allocated to this match");
    CHECK(ready_error(*this, one, one.id, 1, "x") == "Invalid match token");
    CHECK(quiet(matchmaker));
    CHECK(ready_error(*this, one, one.id, 1, match.token) == "");
    CHECK(ready_error(*this, one, one.id, 1, match.token) == "");
    CHECK(next<MatchEventNotice>(matchmaker).event == MatchEventKind::ready);
    CHECK(quiet(matchmaker));
    CHECK(events_named("match.ready") == 1);
}

TEST_CASE_FIXTURE(CoreWorld, "A-10: STARTED needs no READY, ENDED frees the slot, and STARTED after ENDED is refused") {
    const TestServer one = join(*this, 7777);
    const TestServer two = join(*this, 7778);
    const ConnectionId matchmaker = join_matchmaker(*this);
    allocate(*this, matchmaker, one, 1);
    CHECK(report_error<MatchStartedReport>(*this, two, 404) == "Match not found");
    CHECK(report_error<MatchStartedReport>(*this, two, 1) == "Server not allocated to this match");
    CHECK(report_error<MatchStartedReport>(*this, one, 1) == "");
    CHECK(report_error<MatchStartedReport>(*this, one, 1) == "");
    CHECK(report_error<MatchEndedReport>(*this, two, 1) == "Server not allocated to this match");
    CHECK(report_error<MatchEndedReport>(*this, one, 1) == "");
    CHECK(report_error<MatchEndedReport>(*this, one, 1) == "");
    CHECK(report_error<MatchStartedReport>(*this, one, 1) == "Match already ended");
    CHECK(next<MatchEventNotice>(matchmaker).event == MatchEventKind::started);
    CHECK(next<MatchEventNotice>(matchmaker).event == MatchEventKind::ended);
    CHECK(quiet(matchmaker));
    CHECK(core->fleet().find(one.id)->held == 0);
}

TEST_CASE_FIXTURE(CoreWorld, "A-10: the latest event of each lobby is kept and sent when its matchmaker is back") {
    const TestServer server = join(*this, 7777);
    const ConnectionId matchmaker = join_matchmaker(*this);
    const TestMatch match = allocate(*this, matchmaker, server, 1);
    allocate(*this, matchmaker, server, 2);
    disconnect(matchmaker);
    CHECK(ready_error(*this, server, server.id, 1, match.token) == "");
    CHECK(report_error<MatchStartedReport>(*this, server, 1) == "");
    CHECK(report_error<MatchEndedReport>(*this, server, 2) == "");
    const ConnectionId back = join_matchmaker(*this);
    const auto first = next<MatchEventNotice>(back);
    CHECK(first.lobby == LobbyId(1));
    CHECK(first.event == MatchEventKind::started);
    const auto second = next<MatchEventNotice>(back);
    CHECK(second.lobby == LobbyId(2));
    CHECK(second.event == MatchEventKind::ended);
    CHECK(quiet(back));
}

namespace {}  // namespace

TEST_CASE_FIXTURE(CoreWorld,
                  "A-9: a ready match that no player enters and that does not start is aborted after 10 min") {
    const TestServer server = join(*this, 7777);
    const ConnectionId matchmaker = join_matchmaker(*this);
    const TestMatch empty = allocate(*this, matchmaker, server, 1);
    const TestMatch entered = allocate(*this, matchmaker, server, 2);
    const TestMatch begun = allocate(*this, matchmaker, server, 3);
    for (const TestMatch& match : {empty, entered, begun})
        CHECK(ready_error(*this, server, server.id, match.lobby.value, match.token) == "");
    send(server.link, ValidateToken{server.id, entered.lobby, AccountId(1), MatchTokenText(entered.token)});
    CHECK(error_of(next<ValidateTokenResponse>(server.link)) == "");
    CHECK(report_error<MatchStartedReport>(*this, server, 3) == "");
    forget_frames(matchmaker);

    stay(*this, server, matchmaker, 590s);
    CHECK(core->matches().size() == 3);
    advance(10s);
    const auto notice = next<MatchEventNotice>(matchmaker);
    CHECK(notice.lobby == empty.lobby);
    CHECK(notice.event == MatchEventKind::aborted);
    CHECK(notice.reason == "Nobody came");
    CHECK(next<AbortMatch>(server.link).lobby == empty.lobby);
    CHECK(core->matches().size() == 2);
    send(server.link, beat_of(server, 10));
    next<ServerHeartbeatAck>(server.link);
    stay(*this, server, matchmaker, 700s);
    CHECK(core->matches().size() == 2);
}

TEST_CASE_FIXTURE(CoreWorld, "A-9, F-7: on a server that speaks by its count only a ready match is left to its count") {
    const TestServer server = join(*this, 7777);
    const ConnectionId matchmaker = join_matchmaker(*this);
    const TestMatch match = allocate(*this, matchmaker, server, 1);
    CHECK(ready_error(*this, server, server.id, 1, match.token) == "");
    forget_frames(matchmaker);
    stay(*this, server, matchmaker, 1500s);
    CHECK(core->matches().find(match.lobby) != nullptr);
}

TEST_CASE_FIXTURE(CoreWorld,
                  "A-11: CANCEL is always answered by event 4, and a pending request first gets its refusal") {
    const TestServer server = join(*this, 7777);
    const ConnectionId matchmaker = join_matchmaker(*this);
    send(matchmaker, CancelMatch{LobbyId(404)});
    CHECK(next<MatchEventNotice>(matchmaker).reason == "Match not found");

    send(matchmaker, request_for(1));
    next<AllocateMatch>(server.link);
    send(matchmaker, CancelMatch{LobbyId(1)});
    CHECK(error_of(next<AllocationResponse>(matchmaker)) == "Allocation cancelled");
    const auto cancelled = next<MatchEventNotice>(matchmaker);
    CHECK(cancelled.event == MatchEventKind::aborted);
    CHECK(cancelled.reason == "Cancelled");
    CHECK(next<AbortMatch>(server.link).reason == "Cancelled");
    send(server.link, AllocateMatchAck{true, LobbyId(1)});
    next<AbortMatch>(server.link);

    allocate(*this, matchmaker, server, 2);
    report_error<MatchStartedReport>(*this, server, 2);
    CHECK(next<MatchEventNotice>(matchmaker).event == MatchEventKind::started);
    send(matchmaker, CancelMatch{LobbyId(2)});
    CHECK(next<MatchEventNotice>(matchmaker).reason == "Cancelled");
    CHECK(next<AbortMatch>(server.link).lobby == LobbyId(2));
    CHECK(quiet(matchmaker));
    CHECK(core->fleet().find(server.id)->load() == 0);

    const ConnectionId other = join_matchmaker(*this, "other");
    allocate(*this, matchmaker, server, 3);
    send(other, CancelMatch{LobbyId(3)});
    CHECK(next<MatchEventNotice>(other).reason == "Match not found");
    CHECK(core->matches().find(LobbyId(3)) != nullptr);
}

TEST_CASE_FIXTURE(CoreWorld, "A-11: an operator's abort tells matchmaker and game server the reason") {
    const TestServer server = join(*this, 7777);
    const ConnectionId matchmaker = join_matchmaker(*this);
    allocate(*this, matchmaker, server, 1);
    in_pass([this](const Pass& pass) { CHECK(core->abort_match(pass, LobbyId(1), "Maintenance")); });
    CHECK(next<MatchEventNotice>(matchmaker).reason == "Maintenance");
    CHECK(next<AbortMatch>(server.link).reason == "Maintenance");
    in_pass([this](const Pass& pass) { CHECK_FALSE(core->abort_match(pass, LobbyId(1), "")); });
}

TEST_CASE_FIXTURE(CoreWorld, "A-13: all events of one request carry its id, and another request has another") {
    std::vector<std::string> ids;
    loop.events().subscribe<event::MatchOffered>(
        [&](const event::MatchOffered& offered) { ids.emplace_back(offered.request_id); });
    loop.events().subscribe<event::MatchAllocated>(
        [&](const event::MatchAllocated& allocated) { ids.emplace_back(allocated.request_id); });
    loop.events().subscribe<event::MatchRefused>(
        [&](const event::MatchRefused& refused) { ids.emplace_back(refused.request_id); });
    const TestServer server = join(*this, 7777);
    const ConnectionId matchmaker = join_matchmaker(*this);
    send(matchmaker, request_for(1));
    send(server.link, AllocateMatchAck{false, LobbyId(1)});  // offered, then refused: nobody else is there
    send(matchmaker, request_for(1));
    send(server.link, AllocateMatchAck{true, LobbyId(1)});
    REQUIRE(ids.size() == 4);
    CHECK(ids[0] == ids[1]);
    CHECK(ids[2] == ids[3]);
    CHECK(ids[0] != ids[2]);
    CHECK(log_lines.has("Refused a request for a server: No servers available lobby_id=1 request_id=" + ids[0]));

    core->allocate(loop.time().pass(), {1}, request_for(2), "order-42");
    advance(1ms);
    CHECK(ids.back() == "order-42");
}

TEST_CASE_FIXTURE(CoreWorld, "A-13, B-3: an event keeps its request's id when the request is long gone") {
    const std::string order(40, 'r');  // too long for a string to hold it without the heap
    std::string told;
    loop.events().subscribe<event::MatchRefused>(
        [&](const event::MatchRefused& refused) { told = refused.request_id; });
    AllocationRequest nowhere = request_for(1);
    nowhere.region = RegionId(99);
    core->allocate(loop.time().pass(), {1}, nowhere, order);
    [[maybe_unused]] const std::string other(40, 'x');  // what was freed is used again
    advance(1ms);
    CHECK(told == order);
}

TEST_CASE_FIXTURE(CoreWorld, "A-13: an offer tells why this server, and a refused one who declined and why") {
    std::vector<std::string> told;
    loop.events().subscribe_all([&](const EventView& event) {
        if (!event.as<event::MatchOffered>() && !event.as<event::MatchDeclined>()) return;
        JsonFields fields;
        event.describe(fields);
        told.push_back(fields.finish());
    });
    const TestServer first = join(*this, 7777);
    const TestServer second = join(*this, 7778);
    const TestServer third = join(*this, 7779);
    heartbeat_error(*this, second, beat_of(second, 1, 10, 10));
    heartbeat_error(*this, third, beat_of(third, 2, 10, 10));
    const ConnectionId matchmaker = join_matchmaker(*this);
    send(matchmaker, request_for(1));
    send(first.link, AllocateMatchAck{false, LobbyId(1)});
    advance(5s);
    disconnect(third.link);
    advance(1ms);
    REQUIRE(told.size() == 6);
    const auto has = [&told](std::size_t at, const std::string& part) {
        return told[at].find(part) != std::string::npos;
    };
    const std::string id = std::to_string(second.id.value);
    CHECK(has(0, R"("candidates":3,"score":100,"load":0,"next_best":[{"id":)" + id + R"(,"score":92,"load":1})"));
    CHECK(has(1, R"("reason":"refused by the server")"));
    CHECK(has(2, R"("candidates":2,"score":92,"load":1)"));
    CHECK(has(3, R"("server_id":)" + id + R"(,"reason":"no answer in time")"));
    CHECK(has(4, R"("candidates":1,"score":87,"load":2})"));
    CHECK(has(5, R"("reason":"server went offline")"));
}

TEST_CASE_FIXTURE(CoreWorld, "A-10: a matchmaker on HTTP gives its own match back, and nobody else's") {
    const TestServer server = join(*this, 7777);
    const ConnectionId matchmaker = join_matchmaker(*this);
    allocate(*this, matchmaker, server, 1);
    in_pass([this](const Pass& pass) {
        CHECK_FALSE(core->cancel_match(pass, {}, LobbyId(1), ""));
        CHECK_FALSE(core->cancel_match(pass, {}, LobbyId(404), ""));
        core->allocate(pass, {1}, request_for(2));
        core->allocate(pass, {2}, request_for(3));
    });
    CHECK(core->matches().find(LobbyId(1)) != nullptr);
    next<AllocateMatch>(server.link);
    next<AllocateMatch>(server.link);
    send(server.link, AllocateMatchAck{true, LobbyId(2)});
    in_pass([this](const Pass& pass) {
        CHECK(core->cancel_match(pass, {}, LobbyId(2), "players left"));
        CHECK(core->cancel_match(pass, {}, LobbyId(3), "players left"));
    });
    CHECK(next<AbortMatch>(server.link).reason == "Cancelled");  // was offered only, and is told without the disk
    CHECK(next<AbortMatch>(server.link).reason == "players left");
    CHECK(core->matches().find(LobbyId(2)) == nullptr);
    CHECK(core->matches().find(LobbyId(3)) == nullptr);
}

TEST_CASE_FIXTURE(CoreWorld, "A-9: a list of players that came over HTTP is answered by its number and counts") {
    MatchPlayers list;
    list.lobby = LobbyId(1);
    list.accounts.items = {AccountId(7)};
    in_pass([&](const Pass& pass) { core->set_players(pass, {40}, list); });
    advance(1ms);
    auto answered = core->take_answered();
    REQUIRE(answered.size() == 1);
    CHECK(answered[0].number == 40);
    REQUIRE(answered[0].verdict);
    CHECK(answered[0].verdict->lobby == LobbyId(1));
    REQUIRE(core->matches().lists().accounts(LobbyId(1)));
    CHECK(*core->matches().lists().accounts(LobbyId(1)) == std::vector{AccountId(7)});
    list.lobby = LobbyId(-1);
    in_pass([&](const Pass& pass) { core->set_players(pass, {41}, list); });
    answered = core->take_answered();
    REQUIRE(answered.size() == 1);
    CHECK(answered[0].verdict.error() == Refusal::invalid_match_lobby_id);
}

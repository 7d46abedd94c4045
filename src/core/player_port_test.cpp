#include "core/player_port.h"

#include <algorithm>
#include <string_view>

#include <doctest/doctest.h>

#include "core/player_fixture.h"

namespace muster {
namespace {

using namespace muster::testing;

TEST_CASE_FIXTURE(CoreWorld,
                  "P-1: a login is answered with id and resume token, and the world's time follows at once") {
    const ConnectionId link = connect(Port::players);
    send(link, PlayerLogin{"Zoë", "", ""});
    const auto response = next<PlayerLoginResponse>(link);
    const auto& accepted = std::get<PlayerLoginResponse::Accepted>(response.answer);
    CHECK(accepted.player == AccountId(1));
    CHECK(accepted.resume_token.size() == 32);
    CHECK(next<TimeUpdate>(link) == TimeUpdate{1, 0, 0});
    CHECK(links.peers[link].greeted);
    CHECK(events_named("player.login") == 1);
}

TEST_CASE_FIXTURE(CoreWorld, "P-1: a refused login is answered and closed, and names nobody") {
    const auto refused = [&](const PlayerLogin& login) {
        const ConnectionId link = connect(Port::players);
        send(link, login);
        CHECK(closed(link));
        return error_of(next<PlayerLoginResponse>(link));
    };
    CHECK(refused({"ann", "wrong", ""}) == "Invalid credential");
    CHECK(refused({"", "wrong", ""}) == "Invalid credential");
    CHECK(refused({"", "", ""}) == "Invalid name");
    CHECK(refused({"a\nb", "", ""}) == "Invalid name");
    CHECK(refused({"a\x1B[31m", "", ""}) == "Invalid name");
    CHECK(refused({"a\x7F", "", ""}) == "Invalid name");
    CHECK(refused({"a\xC2\x85", "", ""}) == "Invalid name");
    CHECK(core->players().figures().refusals.at("invalid_name") == 5);
    CHECK(core->players().sessions().size() == 0);
    CHECK(log_in(*this, "<b>ann</b>").id == AccountId(1));
}

TEST_CASE("P-1: in open mode a name keeps its id, also over a restart") {
    RecoveredState recovered;
    {
        CoreWorld world;
        CHECK(log_in(world, "ann").id == AccountId(1));
        CHECK(log_in(world, "bob").id == AccountId(2));
        CHECK(log_in(world, "ann").id == AccountId(1));
        for (const Record& record : world.store.durable) {
            if (const auto* account = std::get_if<AccountRecord>(&record)) recovered.accounts.push_back(*account);
        }
    }
    CHECK(recovered.accounts.size() == 2);
    CoreWorld world(recovered);
    CHECK(log_in(world, "cid").id == AccountId(3));
    CHECK(log_in(world, "bob").id == AccountId(2));
}

TEST_CASE_FIXTURE(CoreWorld,
                  "P-1, A-9: nobody is told an id that is not kept, and with the disk full the login is refused") {
    store.holding = true;
    const ConnectionId first = connect(Port::players);
    send(first, PlayerLogin{"ann", "", ""});
    const ConnectionId second = connect(Port::players);
    send(second, PlayerLogin{"ann", "", ""});
    CHECK(quiet(first));
    CHECK(quiet(second));
    // Nothing is counted or published before the account is kept.
    CHECK(core->players().sessions().size() == 0);
    CHECK(core->players().figures().logins == 0);
    CHECK(events_named("player.login") == 0);
    commit();
    CHECK(error_of(next<PlayerLoginResponse>(first)) == "");
    next<TimeUpdate>(first);
    CHECK(close_reason(*this, first) == "Logged in elsewhere");
    CHECK(error_of(next<PlayerLoginResponse>(second)) == "");

    store.holding = false;
    store.fault = StoreFault::full;
    const ConnectionId third = connect(Port::players);
    send(third, PlayerLogin{"bob", "", ""});
    CHECK(error_of(next<PlayerLoginResponse>(third)) == "Store unavailable");
    CHECK(closed(third));
    CHECK(core->players().sessions().size() == 1);
    CHECK(core->players().figures().logins == 2);
    CHECK(core->players().figures().connected == 1);
    CHECK(events_named("player.login") == 2);
    CHECK(events_named("player.closed") == 1);
    store.fault = StoreFault::none;
    advance(1s);
    CHECK(log_in(*this, "bob").id == AccountId(3));
}

TEST_CASE_FIXTURE(CoreWorld, "S-7: the 31st login of an account in a minute is refused, and its session stays") {
    for (int i = 0; i < 29; ++i) {
        const TestPlayer ann = log_in(*this, "ann");
        send(ann.link, PlayerLogout{});
        advance(1s);
    }
    const TestPlayer ann = log_in(*this, "ann");
    const ConnectionId link = connect(Port::players);
    send(link, PlayerLogin{"ann", "", ""});
    CHECK(error_of(next<PlayerLoginResponse>(link)) == "Too many logins");
    CHECK(closed(link));
    CHECK_FALSE(closed(ann.link));
    CHECK(core->players().figures().refusals.at("too_many_logins") == 1);
    CHECK(core->players().figures().logins == 30);
    CHECK(log_lines.has("Refused a login: Too many logins"));
    log_in(*this, "bob");
    advance(31s);
    log_in(*this, "ann");
}

TEST_CASE_FIXTURE(CoreWorld, "S-7, S-4: an address that logs in too often is told once a minute") {
    const auto lines = [this] {
        return std::count_if(log_lines.lines.begin(), log_lines.lines.end(), [](const std::string& line) {
            return line.find("Refused a login: Too many logins") != line.npos;
        });
    };
    const auto log_in_too_often = [this](int times, std::string_view from) {
        for (int i = 0; i < times; ++i) send(connect(Port::players, from), PlayerLogin{"ann", "", ""});
    };
    log_in_too_often(45, "10.0.0.6");
    CHECK(lines() == 1);
    log_in_too_often(2, "10.0.0.7");
    CHECK(lines() == 2);
    advance(1min);
    log_in_too_often(31, "10.0.0.6");
    CHECK(lines() == 3);
    CHECK(log_lines.has("refused_in_the_minute_before=15"));
}

TEST_CASE_FIXTURE(CoreWorld, "S-7, fault 19: a login and a logout leave two lines in the history") {
    log_in(*this, "ann");
    const auto lines = [&] {
        std::vector<std::string> names;
        for (const Record& record : store.durable) {
            if (const auto* event = std::get_if<EventRecord>(&record)) names.push_back(event->type);
        }
        return names;
    };
    const std::size_t before = lines().size();
    const TestPlayer ann = log_in(*this, "ann");
    send(ann.link, PlayerLogout{});
    settle();
    const auto after = lines();
    // The first of them ends the session before.
    CHECK(std::vector<std::string>(after.begin() + static_cast<std::ptrdiff_t>(before), after.end()) ==
          std::vector<std::string>{"player.closed", "player.login", "player.closed"});
}

TEST_CASE_FIXTURE(CoreWorld, "P-1, W-8: what is said before the login's answer is heard after it") {
    store.holding = true;
    const ConnectionId eager = connect(Port::players);
    send(eager, PlayerLogin{"ann", "", ""});
    send(eager, PingRequest{});
    send(eager, ClockSync{5});
    CHECK(quiet(eager));
    const ConnectionId leaving = connect(Port::players);
    send(leaving, PlayerLogin{"bob", "", ""});
    send(leaving, PlayerLogout{});
    CHECK(closed(leaving));
    const ConnectionId broken = connect(Port::players);
    send(broken, PlayerLogin{"cid", "", ""});
    send_raw(broken, PingRequest::code, {std::byte{1}});
    CHECK(closed(broken));
    const ConnectionId twice = connect(Port::players);
    send(twice, PlayerLogin{"dan", "", ""});
    send(twice, PlayerLogin{"dan", "", ""});
    CHECK(closed(twice));
    const ConnectionId talker = connect(Port::players);
    send(talker, PlayerLogin{"eve", "", ""});
    for (std::size_t i = 0; i < PlayerPort::held_frames_max; ++i) send(talker, PlayerActivity{});
    CHECK_FALSE(closed(talker));
    send(talker, PlayerActivity{});
    CHECK(error_of(next<PlayerLoginResponse>(talker)) == "Too many messages");
    CHECK(closed(talker));
    const ConnectionId lost = connect(Port::players);
    send(lost, PlayerLogin{"fay", "", ""});
    disconnect(lost);

    commit();
    CHECK(error_of(next<PlayerLoginResponse>(eager)) == "");
    next<TimeUpdate>(eager);
    next<PingReply>(eager);
    CHECK(next<ClockSyncReply>(eager).client_send_us == 5);
    CHECK(core->players().sessions().size() == 1);
    CHECK(core->players().figures().logins == 1);
}

TEST_CASE_FIXTURE(CoreWorld, "P-1, C-2, A-10: who waits for its login's answer hears nothing before it") {
    const TestServer server = join(*this, 5000);
    const ConnectionId matchmaker = join_matchmaker(*this);
    send(matchmaker, MatchPlayers{LobbyId(7), {{AccountId(1)}}});
    next<MatchPlayersResponse>(matchmaker);
    const TestMatch match = allocate(*this, matchmaker, server, 7);
    store.holding = true;
    const ConnectionId link = connect(Port::players);
    send(link, PlayerLogin{"ann", "", ""});
    in_pass([&](const Pass& pass) { core->set_clock(pass, GameTime{2, 3, 4}, std::nullopt); });
    send(server.link, ReadyForMatch{server.id, match.lobby, MatchTokenText(match.token)});
    CHECK(quiet(link));
    commit();
    CHECK(error_of(next<PlayerLoginResponse>(link)) == "");
    CHECK(next<TimeUpdate>(link) == TimeUpdate{2, 3, 4});
    CHECK(next<PlayerMatchStart>(link).lobby == match.lobby);
    CHECK(quiet(link));
}

TEST_CASE_FIXTURE(CoreWorld, "W-6: before a login nothing but a login is heard, and a second one closes") {
    const ConnectionId link = connect(Port::players);
    send(link, PlayerActivity{});
    CHECK(error_of(next<PlayerLoginResponse>(link)) == "Not logged in");
    CHECK(closed(link));
    const TestPlayer ann = log_in(*this, "ann");
    send(ann.link, PlayerLogin{"ann", "", ""});
    CHECK(error_of(next<PlayerLoginResponse>(ann.link)) == "Already logged in");
    CHECK(closed(ann.link));
    CHECK(core->players().sessions().size() == 0);
}

}  // namespace
}  // namespace muster

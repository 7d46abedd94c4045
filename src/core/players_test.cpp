#include "core/players.h"

#include <algorithm>
#include <string_view>

#include <doctest/doctest.h>

#include "core/player_fixture.h"

namespace muster {
namespace {

using namespace muster::testing;

PlayerView view_of(const CoreWorld& world, AccountId player) {
    const auto view = world.core->players().find(player);
    REQUIRE(view.has_value());
    return *view;
}

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

TEST_CASE_FIXTURE(CoreWorld, "P-4, P-6: an idle player that resumes is active again, and is counted so") {
    const TestPlayer ann = log_in(*this, "ann");
    live(*this, ann, 6min);
    disconnect(ann.link);
    CHECK(core->players().figures().idle == 0);
    CHECK_FALSE(view_of(*this, ann.id).idle);
    log_in(*this, "ann", ann.resume_token);
    CHECK(events_named("player.active") == 1);
    CHECK(core->players().figures().idle == 0);
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

TEST_CASE_FIXTURE(CoreWorld,
                  "P-2: each ping is due 90 to 97 % of the interval after the one before, the first from accept") {
    const Time accepted = clock.now();
    const ConnectionId link = connect(Port::players);
    advance(9s);
    const TestPlayer ann = log_in_on(*this, link, "ann");
    Time before = accepted;
    for (int i = 0; i < 50; ++i) {
        await_ping(*this, link);
        const Duration gap = clock.now() - before;
        CHECK(gap >= 27s);
        CHECK(gap <= 29'101ms);
        before = clock.now();
        send(ann.link, PingEcho{});
    }
}

TEST_CASE_FIXTURE(CoreWorld, "P-2, P-3: the echo gives last, smoothed and jitter, and is never answered") {
    const TestPlayer ann = log_in(*this, "ann");
    const auto ping_after = [&](Duration delay) {
        await_ping(*this, ann.link);
        advance(delay);
        send(ann.link, PingEcho{});
        CHECK(quiet(ann.link));
    };
    ping_after(80ms);
    CHECK(view_of(*this, ann.id).last_rtt_us == 80'000);
    CHECK(view_of(*this, ann.id).latency_us == 80'000);
    CHECK(view_of(*this, ann.id).jitter_us == 40'000);
    ping_after(160ms);
    CHECK(view_of(*this, ann.id).last_rtt_us == 160'000);
    CHECK(view_of(*this, ann.id).latency_us == 90'000);
    CHECK(view_of(*this, ann.id).jitter_us == 50'000);
    // One that nobody asked for measures nothing.
    send(ann.link, PingEcho{});
    CHECK(view_of(*this, ann.id).last_rtt_us == 160'000);
}

TEST_CASE_FIXTURE(CoreWorld, "P-2: with two pings on their way no round trip is measured before the second echo") {
    const TestPlayer ann = log_in(*this, "ann");
    await_ping(*this, ann.link);
    await_ping(*this, ann.link);
    advance(100ms);
    send(ann.link, PingEcho{});
    CHECK(view_of(*this, ann.id).last_rtt_us == 0);
    advance(50ms);
    send(ann.link, PingEcho{});
    CHECK(view_of(*this, ann.id).last_rtt_us == 150'000);
}

TEST_CASE_FIXTURE(CoreWorld,
                  "P-2, O-4: no echo for 60 s is a ping timeout, at 60 s and not before, and activity does not help") {
    const TestPlayer ann = log_in(*this, "ann");
    advance(59'999ms);
    CHECK_FALSE(closed(ann.link));
    send(ann.link, PlayerActivity{});
    forget_frames(ann.link);
    advance(1ms);
    CHECK(close_reason(*this, ann.link) == "Ping timeout");
    CHECK(closed(ann.link));
    CHECK(log_lines.has("Player 1 timed out (no pong for 60s)"));
    CHECK(events_named("player.closed") == 1);
    CHECK(events_named("entity.deleted") == 1);
    CHECK(core->players().figures().closes.at("ping_timeout") == 1);
}

TEST_CASE_FIXTURE(CoreWorld, "P-2, O-4: the seed's ping keepalive: who echoes never times out") {
    const TestPlayer ann = log_in(*this, "ann");
    live(*this, ann, 10min);
    CHECK_FALSE(closed(ann.link));
    CHECK(view_of(*this, ann.id).connected);
}

TEST_CASE_FIXTURE(CoreWorld, "P-3: PING_REQ is echoed in the pass that takes it") {
    const TestPlayer ann = log_in(*this, "ann");
    bool answered_in_pass = false;
    in_pass([&](const Pass& pass) {
        core->frame(pass, ann.link, PeerFrame{PingRequest::code, {}, pass.now, 0});
        answered_in_pass = !quiet(ann.link);
    });
    CHECK(answered_in_pass);
    next<PingReply>(ann.link);
}

TEST_CASE_FIXTURE(CoreWorld, "P-4: idle after 5 min, active again by the next activity, kicked after 30 min") {
    const TestPlayer ann = log_in(*this, "ann");
    live(*this, ann, 5min - 1ms);
    CHECK(events_named("player.idle") == 0);
    live(*this, ann, 1ms);
    CHECK(events_named("player.idle") == 1);
    CHECK(view_of(*this, ann.id).idle);
    send(ann.link, PlayerActivity{});
    CHECK(events_named("player.active") == 1);
    CHECK_FALSE(view_of(*this, ann.id).idle);
    live(*this, ann, 30min - 1ms);
    CHECK(events_named("player.idle") == 2);
    CHECK_FALSE(closed(ann.link));
    advance(1ms);
    answer_pings(*this, ann);
    CHECK(close_reason(*this, ann.link) == "Idle too long");
    CHECK(log_lines.has("Kicking idle player 1"));
}

TEST_CASE_FIXTURE(CoreWorld, "P-4: pings, heartbeat answers and clock questions are no activity, all else is") {
    const TestPlayer ann = log_in(*this, "ann");
    live(*this, ann, 6min);
    CHECK(view_of(*this, ann.id).idle);
    send(ann.link, PingEcho{});
    send(ann.link, EntityHeartbeatAnswer{1, 1});
    send(ann.link, ClockSync{5});
    CHECK(view_of(*this, ann.id).idle);
    CHECK(view_of(*this, ann.id).since_message == 0s);
    send(ann.link, PingRequest{});
    CHECK_FALSE(view_of(*this, ann.id).idle);
    forget_frames(ann.link);
    live(*this, ann, 6min);
    CHECK(view_of(*this, ann.id).idle);
    send_raw(ann.link, 1000, {std::byte{1}, std::byte{2}});
    CHECK_FALSE(view_of(*this, ann.id).idle);
}

TEST_CASE_FIXTURE(CoreWorld, "P-4: the game's own messages reach a program that embeds the library") {
    const TestPlayer ann = log_in(*this, "ann");
    std::string heard;
    core->on_game_message([&](AccountId from, const GameMessage& message) {
        heard = std::to_string(from.value) + " " + std::to_string(message.code) + " " +
                std::to_string(message.payload.size());
    });
    send_raw(ann.link, 4095, {std::byte{1}, std::byte{2}});
    CHECK(heard == "1 4095 2");
    CHECK_FALSE(closed(ann.link));
}

TEST_CASE_FIXTURE(CoreWorld, "P-6: a lost link keeps its session for the grace, and the resume token takes it back") {
    TestPlayer ann = log_in(*this, "ann");
    const std::uint64_t entity = view_of(*this, ann.id).entity;
    disconnect(ann.link);
    CHECK_FALSE(view_of(*this, ann.id).connected);
    advance(29'999ms);
    const TestPlayer back = log_in(*this, "ann", ann.resume_token);
    CHECK(back.id == ann.id);
    CHECK(back.resume_token != ann.resume_token);
    CHECK(view_of(*this, ann.id).entity == entity);
    CHECK(events_named("player.resumed") == 1);
    CHECK(events_named("player.login") == 1);
    CHECK(events_named("entity.deleted") == 0);
    live(*this, back, 2min);
    CHECK_FALSE(closed(back.link));
}

TEST_CASE_FIXTURE(CoreWorld, "P-6: at the end of the grace the session is gone") {
    const TestPlayer ann = log_in(*this, "ann");
    disconnect(ann.link);
    advance(30s);
    CHECK_FALSE(core->players().find(ann.id).has_value());
    CHECK(events_named("player.closed") == 1);
    CHECK(events_named("entity.deleted") == 1);
    CHECK(log_in(*this, "ann", ann.resume_token).id == ann.id);
    CHECK(events_named("player.resumed") == 0);
}

TEST_CASE_FIXTURE(CoreWorld, "P-6: the resume token works once, for its name, and a wrong one is a fresh login") {
    const TestPlayer ann = log_in(*this, "ann");
    disconnect(ann.link);
    const TestPlayer bob = log_in(*this, "bob", ann.resume_token);
    CHECK(bob.id != ann.id);
    CHECK(events_named("player.resumed") == 0);
    const TestPlayer second = log_in(*this, "ann", ann.resume_token);
    CHECK(events_named("player.resumed") == 1);
    disconnect(second.link);
    log_in(*this, "ann", ann.resume_token);
    CHECK(events_named("player.resumed") == 1);
    CHECK(events_named("player.closed") == 1);
}

TEST_CASE_FIXTURE(CoreWorld, "P-6: the credential is still checked when a session is taken back") {
    const TestPlayer ann = log_in(*this, "ann");
    disconnect(ann.link);
    const ConnectionId link = connect(Port::players);
    send(link, PlayerLogin{"ann", "wrong", ResumeTokenText(ann.resume_token)});
    CHECK(error_of(next<PlayerLoginResponse>(link)) == "Invalid credential");
    CHECK(log_in(*this, "ann", ann.resume_token).id == ann.id);
    CHECK(events_named("player.resumed") == 1);
}

TEST_CASE_FIXTURE(CoreWorld, "P-6: the resume token also takes over a link still thought alive") {
    const TestPlayer ann = log_in(*this, "ann");
    const TestPlayer back = log_in(*this, "ann", ann.resume_token);
    CHECK(close_reason(*this, ann.link) == "Logged in elsewhere");
    CHECK(closed(ann.link));
    CHECK(events_named("player.closed") == 0);
    disconnect(ann.link);
    CHECK(view_of(*this, ann.id).connected);
    send(back.link, PingRequest{});
    next<PingReply>(back.link);
}

TEST_CASE_FIXTURE(CoreWorld, "P-7: a second login under the same name replaces the first: same id, new entity") {
    const TestPlayer ann = log_in(*this, "ann");
    const std::uint64_t entity = view_of(*this, ann.id).entity;
    const TestPlayer again = log_in(*this, "ann");
    CHECK(again.id == ann.id);
    CHECK(close_reason(*this, ann.link) == "Logged in elsewhere");
    CHECK(closed(ann.link));
    CHECK(view_of(*this, ann.id).entity != entity);
    CHECK(core->players().sessions().size() == 1);
    CHECK(events_named("player.closed") == 1);
    CHECK(events_named("entity.deleted") == 1);
}

TEST_CASE_FIXTURE(CoreWorld, "P-5: logout ends the session at once, a kick says so") {
    const TestPlayer ann = log_in(*this, "ann");
    send(ann.link, PlayerLogout{});
    CHECK(closed(ann.link));
    CHECK(quiet(ann.link));
    CHECK_FALSE(core->players().find(ann.id).has_value());
    const TestPlayer bob = log_in(*this, "bob");
    bool kicked = false;
    in_pass([&](const Pass& pass) { kicked = core->kick(pass, bob.id, "spam"); });
    CHECK(kicked);
    CHECK(close_reason(*this, bob.link) == "Kicked");
    in_pass([&](const Pass& pass) { kicked = core->kick(pass, bob.id, "spam"); });
    CHECK_FALSE(kicked);
}

TEST_CASE_FIXTURE(CoreWorld, "P-5: whoever breaks the protocol is told, and its session is over") {
    const TestPlayer ann = log_in(*this, "ann");
    send_raw(ann.link, PingEcho::code, {std::byte{1}});
    CHECK(close_reason(*this, ann.link) == "Malformed message: trailing_bytes");
    CHECK(closed(ann.link));
    disconnect(ann.link);
    CHECK_FALSE(core->players().find(ann.id).has_value());
    const TestPlayer bob = log_in(*this, "bob");
    in_pass([&](const Pass& pass) { core->gave_up(pass, bob.link, LinkFault::flooded); });
    CHECK(close_reason(*this, bob.link) == "Too many messages");
    CHECK_FALSE(core->players().find(bob.id).has_value());
}

TEST_CASE_FIXTURE(CoreWorld, "X-3: at shutdown players are told, and nobody logs in any more") {
    const TestPlayer ann = log_in(*this, "ann");
    const ConnectionId early = connect(Port::players);
    in_pass([&](const Pass& pass) { core->shut_down(pass); });
    CHECK(close_reason(*this, ann.link) == "Server shutting down");
    CHECK(close_reason(*this, early) == "Server shutting down");
    const ConnectionId late = connect(Port::players);
    send(late, PlayerLogin{"bob", "", ""});
    CHECK(error_of(next<PlayerLoginResponse>(late)) == "Server shutting down");
}

TEST_CASE_FIXTURE(CoreWorld, "B-1: while Muster does not read a link its player is not judged") {
    const TestPlayer ann = log_in(*this, "ann");
    advance(50s);
    in_pass([&](const Pass& pass) { core->paused(pass, ann.link); });
    advance(9s);
    in_pass([&](const Pass& pass) { core->resumed(pass, ann.link); });
    forget_frames(ann.link);
    advance(9'998ms);
    CHECK_FALSE(closed(ann.link));
    forget_frames(ann.link);
    advance(2ms);
    CHECK(close_reason(*this, ann.link) == "Ping timeout");
}

TEST_CASE_FIXTURE(CoreWorld, "B-1: however long Muster does not read a link, its player is not judged meanwhile") {
    const TestPlayer ann = log_in(*this, "ann");
    in_pass([&](const Pass& pass) { core->paused(pass, ann.link); });
    advance(10min);
    CHECK_FALSE(closed(ann.link));
    in_pass([&](const Pass& pass) { core->resumed(pass, ann.link); });
    advance(59s);
    CHECK_FALSE(closed(ann.link));
    forget_frames(ann.link);
    advance(2s);
    CHECK(close_reason(*this, ann.link) == "Ping timeout");
}

TEST_CASE_FIXTURE(CoreWorld, "L-8, fault 11: a process that stood still for 5 minutes removes no player") {
    const TestPlayer ann = log_in(*this, "ann");
    const TestPlayer bob = log_in(*this, "bob");
    disconnect(bob.link);
    advance(20s);
    clock.advance(5min);
    settle();
    CHECK_FALSE(closed(ann.link));
    CHECK(core->players().find(bob.id).has_value());
    answer_pings(*this, ann);
    live(*this, ann, 2min);
    CHECK_FALSE(closed(ann.link));
    CHECK_FALSE(core->players().find(bob.id).has_value());
}

TEST_CASE_FIXTURE(CoreWorld, "P-2: MSG_CLOCK_SYNC is answered with the time of its coming and of its leaving") {
    const TestPlayer ann = log_in(*this, "ann");
    const auto now_us = [&] {
        return std::chrono::duration_cast<std::chrono::microseconds>(clock.now().time_since_epoch()).count();
    };
    send(ann.link, ClockSync{12'345});
    const auto first = next<ClockSyncReply>(ann.link);
    const std::int64_t offset = first.server_send_us - now_us();
    CHECK(first.client_send_us == 12'345);
    CHECK(first.server_receive_us == first.server_send_us);
    advance(2500us);
    in_pass([&](const Pass& pass) {
        std::vector<std::byte> frame;
        encode(ClockSync{7}, ByteOrder::big, frame);
        core->frame(pass, ann.link, PeerFrame{ClockSync::code, std::span(frame).subspan(4), pass.now - 1500us, 0});
    });
    const auto second = next<ClockSyncReply>(ann.link);
    CHECK(second.server_send_us == now_us() + offset);
    CHECK(second.server_send_us - second.server_receive_us == 1500);
}

TEST_CASE_FIXTURE(CoreWorld,
                  "fault 18, X-6: MSG_CLOCK_SYNC and heartbeat acks tell the same time, whatever the date does") {
    const TestPlayer ann = log_in(*this, "ann");
    const TestServer server = join(*this, 7777);
    const auto told = [&] {
        send(ann.link, ClockSync{1});
        send(server.link, beat_of(server));
        const auto ack = std::get<ServerHeartbeatAck::Accepted>(next<ServerHeartbeatAck>(server.link).answer);
        CHECK(next<ClockSyncReply>(ann.link).server_send_us / 1'000 == ack.time.value);
        return ack.time.value;
    };
    std::int64_t last = told();
    for (const auto step : {3'600'000ms, -3'600'000ms, 48 * 3'600'000ms, -48 * 3'600'000ms}) {
        clock.step_wall(step);
        in_pass([&](const Pass& pass) { core->observe_wall(pass, clock.wall()); });
        for (int i = 0; i < 5; ++i) {
            advance(700ms);
            forget_frames(ann.link);
            const std::int64_t now = told();
            CHECK(now >= last);
            last = now;
        }
    }
}

TEST_CASE(
    "fault 18, P-1: a credential is judged by the machine's date, also after the date was days ahead for a moment") {
    std::vector<UnixMs> judged_by;
    CoreWorld world({}, [&](CoreConfig& config) {
        config.player_credential = [&](std::string_view, std::string_view, UnixMs date) {
            judged_by.push_back(date);
            return Result<std::optional<AccountId>, Refusal>(AccountId(7));
        };
    });
    const auto date_judged_by = [&] {
        world.in_pass([&](const Pass& pass) { world.core->observe_wall(pass, world.clock.wall()); });
        log_in(world, "ann");
        return judged_by.back();
    };
    CHECK(date_judged_by() == world.clock.wall());
    world.clock.step_wall(24h);
    CHECK(date_judged_by() == world.clock.wall());
    world.advance(2s);
    world.clock.step_wall(-24h);
    CHECK(date_judged_by() == world.clock.wall());
}

TEST_CASE_FIXTURE(CoreWorld, "P-8: an operator sees connected at, last message, pings sent and received, latency") {
    const TestPlayer ann = log_in(*this, "ann");
    CHECK_FALSE(view_of(*this, ann.id).since_ping_sent.has_value());
    CHECK(view_of(*this, ann.id).connected_at == clock.wall());
    live(*this, ann, 40s);
    send(ann.link, PlayerActivity{});
    advance(3s);
    const PlayerView view = view_of(*this, ann.id);
    CHECK(view.name == "ann");
    CHECK(view.since_message == 3s);
    CHECK(view.since_ping_sent > 13s);
    CHECK(view.since_echo > 13s);
    CHECK(view.since_echo < 17s);
    CHECK(view.failed_heartbeats == 0);
}

}  // namespace
}  // namespace muster

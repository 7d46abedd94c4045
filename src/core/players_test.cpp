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

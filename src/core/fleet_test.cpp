#include "core/fleet.h"

#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "core/core_figures.h"
#include "core/core_fixture.h"

using namespace muster;
using namespace muster::testing;

namespace {

// What a fresh link is answered to this handshake.
std::string handshake_error(CoreWorld& world, const ServerHandshake& hello) {
    const ConnectionId link = world.connect(Port::servers);
    world.send(link, hello);
    const std::string error = error_of(world.next<ServerHandshakeResponse>(link));
    CHECK(world.closed(link) == !error.empty());
    return error;
}

}  // namespace

TEST_CASE_FIXTURE(CoreWorld,
                  "F-1: a handshake is checked in the order token, address, port, region, capacity, endpoint") {
    ServerHandshake hello{"wrong", GameEndpoint{"nowhere", 80}, RegionId(77), 0};
    CHECK(handshake_error(*this, hello) == "Invalid token");
    hello.token = "server-secret";
    CHECK(handshake_error(*this, hello) == "Invalid IP address");
    hello.endpoint.ip = "10.0.0.9";
    CHECK(handshake_error(*this, hello) == "Invalid port");
    hello.endpoint.port = 7777;
    CHECK(handshake_error(*this, hello) == "Invalid region");
    hello.region = eu;
    CHECK(handshake_error(*this, hello) == "Invalid capacity");
    hello.max_matches = 1;
    CHECK(handshake_error(*this, hello) == "");
    CHECK(handshake_error(*this, hello) == "Server already registered");
    CHECK(core->fleet().size() == 1);
}

TEST_CASE_FIXTURE(CoreWorld, "F-1, fault 43: the last good value passes and the first bad one does not") {
    const auto with = [](std::string_view ip, std::int32_t port, std::int32_t max) {
        return hello_of(ip, port, eu, max);
    };
    for (const char* ip : {"0.0.0.0", "::", "224.0.0.1", "ff02::1", "fe80::1%eth0", "localhost", ""}) {
        CHECK(handshake_error(*this, with(ip, 7777, 1)) == "Invalid IP address");
    }
    for (const std::int32_t port : {1023, 65536, 0, -1, std::numeric_limits<std::int32_t>::min()}) {
        CHECK(handshake_error(*this, with("10.0.0.1", port, 1)) == "Invalid port");
    }
    CHECK(handshake_error(*this, with("10.0.0.1", 1024, 1)) == "");
    CHECK(handshake_error(*this, with("10.0.0.1", 65535, 10'000)) == "");
    for (const std::int32_t max : {0, 10'001, -1, std::numeric_limits<std::int32_t>::max()}) {
        CHECK(handshake_error(*this, with("10.0.0.2", 7777, max)) == "Invalid capacity");
    }
}

TEST_CASE_FIXTURE(CoreWorld, "F-1: two spellings of one address are one server") {
    CHECK(handshake_error(*this, hello_of("2001:DB8::1", 7777, eu, 1)) == "");
    CHECK(handshake_error(*this, hello_of("2001:db8:0:0::1", 7777, eu, 1)) == "Server already registered");
    CHECK(handshake_error(*this, hello_of("::ffff:10.1.1.1", 7777, eu, 1)) == "");
    CHECK(handshake_error(*this, hello_of("10.1.1.1", 7777, eu, 1)) == "Server already registered");
}

TEST_CASE_FIXTURE(CoreWorld,
                  "F-1: a link silent for 1.5 intervals is not live, and the newcomer takes over its id and matches") {
    const TestServer first = join(*this, 7777);
    const ConnectionId matchmaker = join_matchmaker(*this);
    allocate(*this, matchmaker, first, 5);
    advance(14'999ms);
    CHECK(handshake_error(*this, hello_of("10.0.0.1", 7777, eu, 10)) == "Server already registered");
    advance(1ms);
    const std::int64_t epoch = state_of(*this, first).epoch;
    const TestServer second = join(*this, 7777);
    CHECK(second.id == first.id);
    CHECK(closed(first.link));
    CHECK(state_of(*this, second).epoch > epoch);
    CHECK(state_of(*this, second).held == 1);
}

TEST_CASE_FIXTURE(CoreWorld, "F-2: a server silent for 30 s is removed, and a beat at 29.999 s keeps it") {
    const TestServer server = join(*this, 7777);
    advance(29'999ms);
    CHECK(heartbeat_error(*this, server, beat_of(server)) == "");
    advance(29'999ms);
    CHECK(core->fleet().find(server.id) != nullptr);
    advance(1ms);
    CHECK(core->fleet().find(server.id) == nullptr);
    CHECK(core->fleet().candidates(eu).offered_count() == 0);
    CHECK(log_lines.has("Game server 1 timed out (last heartbeat 30.0s ago)"));
    CHECK(events_named("server.removed") == 1);
}

TEST_CASE_FIXTURE(CoreWorld, "F-3: a heartbeat is acknowledged with the time, and only by the link that holds the id") {
    const TestServer one = join(*this, 7777);
    const TestServer two = join(*this, 7778);
    advance(1s);
    send(one.link, beat_of(one, 3, 45.2F, 62.8F));
    const auto ack = next<ServerHeartbeatAck>(one.link);
    CHECK(std::get<ServerHeartbeatAck::Accepted>(ack.answer).time == clock.wall());
    CHECK(state_of(*this, one).reported_matches == 3);
    CHECK(state_of(*this, one).cpu_percent == 45.2F);

    CHECK(heartbeat_error(*this, one, beat_of(two, 9)) == "Server not registered");
    CHECK(heartbeat_error(*this, one, ServerHeartbeat{ServerId(99), 0, 0, 0}) == "Server not registered");
    CHECK(state_of(*this, two).reported_matches == 0);
    CHECK_FALSE(closed(one.link));
    CHECK(core->fleet().figures().identity_mismatches == 2);
}

TEST_CASE_FIXTURE(CoreWorld, "F-3: a timed-out server hears so at its next frame, and its link is closed") {
    const TestServer server = join(*this, 7777);
    advance(30s);
    CHECK_FALSE(closed(server.link));
    CHECK(heartbeat_error(*this, server, beat_of(server)) == "Server disconnected");
    CHECK(closed(server.link));
}

TEST_CASE_FIXTURE(CoreWorld, "F-3: a timed-out server that says nothing is closed one timeout later") {
    const TestServer server = join(*this, 7777);
    advance(59s);
    CHECK_FALSE(closed(server.link));
    advance(1s);
    CHECK(closed(server.link));
}

TEST_CASE_FIXTURE(CoreWorld,
                  "F-4, fault 44: a load report that makes no sense keeps the old figures but counts as life") {
    const TestServer server = join(*this, 7777);
    CHECK(heartbeat_error(*this, server, beat_of(server, 2, 20, 30)) == "");
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float infinity = std::numeric_limits<float>::infinity();
    for (const auto& [matches, cpu, memory] : std::vector<std::tuple<std::int32_t, float, float>>{{0, nan, 0},
                                                                                                  {0, 0, nan},
                                                                                                  {0, infinity, 0},
                                                                                                  {0, 0, -infinity},
                                                                                                  {0, -0.1F, 0},
                                                                                                  {0, 0, 100.1F},
                                                                                                  {-1, 0, 0}}) {
        advance(20s);
        CHECK(heartbeat_error(*this, server, ServerHeartbeat{server.id, matches, cpu, memory}) ==
              "Invalid load report");
    }
    CHECK(state_of(*this, server).reported_matches == 2);
    CHECK(state_of(*this, server).cpu_percent == 20);
    CHECK(state_of(*this, server).memory_percent == 30);
    CHECK(heartbeat_error(*this, server, ServerHeartbeat{server.id, 0, 0, 100}) == "");
    CHECK(core->fleet().figures().bad_load_reports == 7);
}

TEST_CASE_FIXTURE(CoreWorld, "F-5: Offline, Draining, Full, Available, in that order") {
    const TestServer server = join(*this, 7777, eu, 2);
    CHECK(state_of(*this, server).status() == ServerStatus::available);
    CHECK(heartbeat_error(*this, server, beat_of(server, 2)) == "");
    CHECK(state_of(*this, server).status() == ServerStatus::full);
    send(server.link, SetDraining{server.id, true});
    CHECK(next<ServerStatusNotice>(server.link).status == ServerStatus::draining);
    CHECK(heartbeat_error(*this, server, beat_of(server, 0)) == "");
    CHECK(state_of(*this, server).status() == ServerStatus::draining);
    disconnect(server.link);
    CHECK(state_of(*this, server).status() == ServerStatus::offline);
    const TestServer back = join(*this, 7777, eu, 2);
    CHECK(state_of(*this, back).status() == ServerStatus::draining);
    send(back.link, SetDraining{back.id, false});
    CHECK(next<ServerStatusNotice>(back.link).status == ServerStatus::available);
}

TEST_CASE_FIXTURE(CoreWorld,
                  "F-5, invariant 12: an operator's drain is lifted by an operator only, a server's own by either") {
    const TestServer server = join(*this, 7777);
    CHECK(core->drain(server.id, true));
    CHECK(next<ServerStatusNotice>(server.link).status == ServerStatus::draining);
    send(server.link, SetDraining{server.id, false});
    CHECK(next<ServerStatusNotice>(server.link).status == ServerStatus::draining);
    core->drain(server.id, false);
    CHECK(next<ServerStatusNotice>(server.link).status == ServerStatus::available);

    send(server.link, SetDraining{server.id, true});
    CHECK(next<ServerStatusNotice>(server.link).status == ServerStatus::draining);
    core->drain(server.id, false);
    CHECK(next<ServerStatusNotice>(server.link).status == ServerStatus::available);
    CHECK_FALSE(core->drain(ServerId(404), true));
}

TEST_CASE_FIXTURE(CoreWorld, "F-5: who drained a server, when and why is kept, and gone with the drain") {
    const TestServer server = join(*this, 7777);
    const DrainNote note{"10.0.0.5", "new version", UnixMs{70}};
    core->drain(server.id, true, note);
    CHECK(state_of(*this, server).drain() == note);
    // Its own drain on top of it does not hide the operator's.
    send(server.link, SetDraining{server.id, true});
    CHECK(state_of(*this, server).drain() == note);
    core->drain(server.id, false, {"10.0.0.5", "done", UnixMs{80}});
    CHECK(state_of(*this, server).drain() == DrainNote{});
    send(server.link, SetDraining{server.id, true});
    CHECK(state_of(*this, server).drain().who.empty());
    CHECK(state_of(*this, server).drain().at.value > 0);
    send(server.link, SetDraining{server.id, false});
    CHECK(state_of(*this, server).drain() == DrainNote{});

    RecoveredState state;
    state.numbers = {.server_ids_below = 10'001, .epochs_below = 500, .event_ids_below = 5};
    state.servers.push_back(
        {ServerId(7), *IpAddress::parse("10.0.0.1"), 7777, eu, 400, 5, false, true, UnixMs{1}, note});
    CoreWorld restarted(state);
    CHECK(restarted.core->fleet().find(ServerId(7))->drain() == note);
}

TEST_CASE_FIXTURE(CoreWorld, "F-5: a draining server takes no match, and removal clears the flag") {
    const TestServer server = join(*this, 7777);
    core->drain(server.id, true);
    const ConnectionId matchmaker = join_matchmaker(*this);
    send(matchmaker, request_for(1));
    CHECK(error_of(next<AllocationResponse>(matchmaker)) == "No servers available");
    advance(30s);
    const TestServer anew = join(*this, 7777);
    CHECK(anew.id != server.id);
    CHECK(state_of(*this, anew).status() == ServerStatus::available);
}

TEST_CASE_FIXTURE(
    CoreWorld, "F-6: a lost link makes the server Offline at once, and a return in time resumes it with its matches") {
    const TestServer server = join(*this, 7777);
    const ConnectionId matchmaker = join_matchmaker(*this);
    allocate(*this, matchmaker, server, 5);
    const std::int64_t epoch = state_of(*this, server).epoch;
    disconnect(server.link);
    CHECK(state_of(*this, server).status() == ServerStatus::offline);
    CHECK(quiet(matchmaker));
    advance(29s);
    const TestServer back = join(*this, 7777, eu, 3);
    CHECK(back.id == server.id);
    CHECK(state_of(*this, back).epoch > epoch);
    CHECK(state_of(*this, back).held == 1);
    CHECK(state_of(*this, back).max_matches == 3);
    CHECK(quiet(back.link));
}

TEST_CASE_FIXTURE(
    CoreWorld,
    "F-6, A-11, fault 64: removal aborts the matches, and the endpoint first hears of them when it registers again") {
    const TestServer server = join(*this, 7777);
    const ConnectionId matchmaker = join_matchmaker(*this);
    allocate(*this, matchmaker, server, 5);
    allocate(*this, matchmaker, server, 6);
    disconnect(server.link);
    advance(30s);
    for (int i = 0; i < 2; ++i) {
        const auto event = next<MatchEventNotice>(matchmaker);
        CHECK(event.event == MatchEventKind::aborted);
        CHECK(event.reason == "Server lost");
    }
    const TestServer anew = join(*this, 7777);
    CHECK(anew.id != server.id);
    CHECK(next<AbortMatch>(anew.link).lobby == LobbyId(5));
    CHECK(next<AbortMatch>(anew.link).lobby == LobbyId(6));
    CHECK(state_of(*this, anew).load() == 0);
}

TEST_CASE_FIXTURE(CoreWorld, "F-6: the same endpoint under another region is a new registration") {
    const TestServer server = join(*this, 7777, eu);
    disconnect(server.link);
    const TestServer moved = join(*this, 7777, use);
    CHECK(moved.id != server.id);
    CHECK(core->fleet().find(server.id) == nullptr);
    CHECK(core->fleet().size() == 1);
}

TEST_CASE_FIXTURE(
    CoreWorld,
    "F-7, fault 47: load is the larger of what is reported and what is held, so a stale report frees nothing") {
    const TestServer server = join(*this, 7777, eu, 2);
    const ConnectionId matchmaker = join_matchmaker(*this);
    allocate(*this, matchmaker, server, 1);
    allocate(*this, matchmaker, server, 2);
    CHECK(heartbeat_error(*this, server, beat_of(server, 0)) == "");
    CHECK(state_of(*this, server).load() == 2);
    send(matchmaker, request_for(3));
    CHECK(error_of(next<AllocationResponse>(matchmaker)) == "No servers available");
    CHECK(heartbeat_error(*this, server, beat_of(server, 7)) == "");
    CHECK(state_of(*this, server).load() == 7);
}

TEST_CASE_FIXTURE(CoreWorld,
                  "F-7, A-12: a match that ends after it was counted frees its slot before the next report") {
    const TestServer one = join(*this, 7777);
    const ConnectionId matchmaker = join_matchmaker(*this);
    allocate(*this, matchmaker, one, 1);
    allocate(*this, matchmaker, one, 2);
    advance(1s);
    CHECK(heartbeat_error(*this, one, beat_of(one, 3)) == "");  // one of them is none of ours
    advance(1s);
    allocate(*this, matchmaker, one, 3);
    CHECK(core->fleet().find(one.id)->load() == 3);
    CHECK(report_error<MatchEndedReport>(*this, one, 3) == "");  // the report did not count this one
    CHECK(core->fleet().find(one.id)->load() == 3);
    CHECK(report_error<MatchEndedReport>(*this, one, 1) == "");
    CHECK(report_error<MatchEndedReport>(*this, one, 1) == "");
    CHECK(core->fleet().find(one.id)->load() == 2);
    CHECK(report_error<MatchEndedReport>(*this, one, 2) == "");
    CHECK(core->fleet().find(one.id)->load() == 1);
    CHECK(heartbeat_error(*this, one, beat_of(one, 1)) == "");
    CHECK(core->fleet().find(one.id)->load() == 1);
}

TEST_CASE_FIXTURE(CoreWorld, "F-7, A-12: an acknowledgement and the report that counts it may come at one instant") {
    const TestServer one = join(*this, 7777);
    const ConnectionId matchmaker = join_matchmaker(*this);
    allocate(*this, matchmaker, one, 1);
    CHECK(heartbeat_error(*this, one, beat_of(one, 1)) == "");
    allocate(*this, matchmaker, one, 2);  // after the report
    CHECK(report_error<MatchEndedReport>(*this, one, 2) == "");
    CHECK(core->fleet().find(one.id)->load() == 1);
    CHECK(report_error<MatchEndedReport>(*this, one, 1) == "");
    CHECK(core->fleet().find(one.id)->load() == 0);
}

TEST_CASE_FIXTURE(CoreWorld,
                  "F-7, fault 48: a server that restarted loses its earlier matches after three low reports") {
    const TestServer server = join(*this, 7777);
    const ConnectionId matchmaker = join_matchmaker(*this);
    allocate(*this, matchmaker, server, 1);
    send(server.link, MatchStartedReport{server.id, LobbyId(1)});
    disconnect(server.link);
    const TestServer back = join(*this, 7777);
    forget_frames(matchmaker);
    for (int i = 0; i < 2; ++i) CHECK(heartbeat_error(*this, back, beat_of(back, 0)) == "");
    CHECK(state_of(*this, back).held == 1);
    CHECK(heartbeat_error(*this, back, beat_of(back, 0)) == "");
    CHECK(next<AbortMatch>(back.link).lobby == LobbyId(1));
    CHECK(state_of(*this, back).held == 0);
    const auto event = next<MatchEventNotice>(matchmaker);
    CHECK(event.event == MatchEventKind::aborted);
    CHECK(event.reason == "Lost by server");
    CHECK(core->matches().figures().lost_matches == 1);
}

TEST_CASE_FIXTURE(CoreWorld, "F-7: a server that only speaks by its count ends its oldest matches by it") {
    const TestServer server = join(*this, 7777);
    const ConnectionId matchmaker = join_matchmaker(*this);
    for (int lobby = 1; lobby <= 3; ++lobby) {
        allocate(*this, matchmaker, server, lobby);
        advance(1s);
    }
    for (int i = 0; i < 3; ++i) CHECK(heartbeat_error(*this, server, beat_of(server, 1)) == "");
    for (int lobby = 1; lobby <= 2; ++lobby) {
        const auto event = next<MatchEventNotice>(matchmaker);
        CHECK(event.lobby == LobbyId(lobby));
        CHECK(event.event == MatchEventKind::ended);
        CHECK(event.reason == "Reported by heartbeat");
    }
    CHECK(quiet(matchmaker));
    CHECK(state_of(*this, server).held == 1);
}

TEST_CASE_FIXTURE(
    CoreWorld,
    "F-7: low reports before the newest acknowledgement do not count, nor does one enough report in between") {
    const TestServer server = join(*this, 7777);
    const ConnectionId matchmaker = join_matchmaker(*this);
    allocate(*this, matchmaker, server, 1);
    for (int i = 0; i < 2; ++i) CHECK(heartbeat_error(*this, server, beat_of(server, 0)) == "");
    allocate(*this, matchmaker, server, 2);
    for (int i = 0; i < 2; ++i) CHECK(heartbeat_error(*this, server, beat_of(server, 0)) == "");
    CHECK(heartbeat_error(*this, server, beat_of(server, 2)) == "");
    for (int i = 0; i < 2; ++i) CHECK(heartbeat_error(*this, server, beat_of(server, 0)) == "");
    CHECK(state_of(*this, server).held == 2);
    CHECK(quiet(matchmaker));
}

TEST_CASE_FIXTURE(CoreWorld, "F-9, fault 31: what an older registration sends changes nothing") {
    const TestServer server = join(*this, 7777);
    disconnect(server.link);
    const TestServer back = join(*this, 7777);
    send(server.link, beat_of(server, 9));
    CHECK(quiet(server.link));
    CHECK(state_of(*this, back).reported_matches == 0);
    CHECK(core->stale_messages() == 1);
}

TEST_CASE_FIXTURE(CoreWorld, "F-12: GOODBYE removes the server at once, aborts its matches and closes the link") {
    const TestServer server = join(*this, 7777);
    const ConnectionId matchmaker = join_matchmaker(*this);
    allocate(*this, matchmaker, server, 5);
    send(server.link, ServerGoodbye{server.id});
    CHECK(core->fleet().size() == 0);
    CHECK(closed(server.link));
    const auto event = next<MatchEventNotice>(matchmaker);
    CHECK(event.event == MatchEventKind::aborted);
    CHECK(event.reason == "Server left");
}

TEST_CASE_FIXTURE(CoreWorld, "F-11: region averages leave out those who are Offline") {
    const TestServer one = join(*this, 7777, eu, 10);
    const TestServer two = join(*this, 7778, eu, 10);
    CHECK(heartbeat_error(*this, one, beat_of(one, 5, 40, 20)) == "");
    CHECK(heartbeat_error(*this, two, beat_of(two, 1, 20, 60)) == "");
    const auto of_eu = [&] {
        for (const auto& region : figures_of(*core).regions) {
            if (region.name == "EU") return region;
        }
        FAIL("no such region");
        return CoreFigures::OfRegion{};
    };
    CHECK(of_eu().cpu_percent == doctest::Approx(30));
    CHECK(of_eu().memory_percent == doctest::Approx(40));
    CHECK(of_eu().capacity_ratio == doctest::Approx(0.3));
    disconnect(two.link);
    CHECK(of_eu().cpu_percent == doctest::Approx(40));
    CHECK(of_eu().servers[3] == 1);
}

TEST_CASE_FIXTURE(
    CoreWorld,
    "X-4: after a restart known servers are Offline, with a full timeout to return and their draining kept") {
    RecoveredState state;
    state.numbers = {.server_ids_below = 10'001, .epochs_below = 500, .event_ids_below = 5};
    state.servers.push_back({ServerId(7), *IpAddress::parse("10.0.0.1"), 7777, eu, 400, 5, true, false, UnixMs{1}});
    state.servers.push_back({ServerId(8), *IpAddress::parse("10.0.0.1"), 7778, eu, 401, 5, false, false, UnixMs{1}});
    CoreWorld restarted(state);
    CHECK(restarted.core->fleet().find(ServerId(7))->status() == ServerStatus::offline);
    restarted.advance(29'999ms);
    const TestServer back = join(restarted, 7777);
    CHECK(back.id == ServerId(7));
    CHECK(state_of(restarted, back).epoch >= 500);
    CHECK(state_of(restarted, back).draining());
    restarted.advance(1ms);
    CHECK(restarted.core->fleet().find(ServerId(8)) == nullptr);
    const TestServer fresh = join(restarted, 9999);
    CHECK(fresh.id.value >= 10'001);
}

TEST_CASE_FIXTURE(CoreWorld,
                  "X-4, fault 46: ids and epochs never repeat, and run out rather than repeat when the store is down") {
    store.fault = StoreFault::full;
    std::size_t refused = 0;
    for (int i = 0; i < IdBlocks::server_block + 10; ++i) {
        const ConnectionId link = connect(Port::servers);
        send(link, hello_of("10.0.0.1", 1024 + i % 60'000, eu, 1));
        const auto answer = next<ServerHandshakeResponse>(link);
        if (error_of(answer) == "Store unavailable") ++refused;
        send(link, ServerGoodbye{ServerId(i + 1)});
    }
    CHECK(refused == 10);
}

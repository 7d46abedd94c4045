#include "core/hosts.h"

#include <limits>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "core/hosts_fixture.h"

using namespace muster;
using namespace muster::testing;

TEST_CASE_FIXTURE(HostWorld, "G-12: an agent tells its host and its processes, and both are shown") {
    const ConnectionId link = join_host();
    CHECK(events_named("host.joined") == 1);
    send(link, running("arena-1"));
    send(link, HostReport{12.5F, 40, true});
    const HostsView shown = view();
    REQUIRE(shown.hosts.size() == 1);
    const HostRow& row = shown.hosts[0];
    CHECK(row.name == "eu-1");
    CHECK(row.address == "10.0.0.1");
    CHECK(row.region == eu);
    CHECK(row.version == "1.0");
    CHECK(row.connected);
    CHECK(row.draining);
    CHECK(row.cpu_percent == 12.5F);
    REQUIRE(row.processes.size() == 1);
    CHECK(row.processes[0].name == "arena-1");
    CHECK(row.processes[0].state == ProcessState::ready);
    CHECK(row.processes[0].pid == 77);
    CHECK(row.processes[0].exit_at.value == 0);
}

TEST_CASE_FIXTURE(HostWorld, "G-12: news of a process are events, and what was known before is none") {
    const ConnectionId link = join_host();
    send(link, killed("arena-1"));
    CHECK(events_named("process.exited") == 1);
    ProcessReport report = killed("arena-1");
    report.news = ReportedNews::none;
    send(link, report);
    CHECK(events_named("process.exited") == 1);
    for (const ReportedNews news :
         {ReportedNews::started, ReportedNews::ready, ReportedNews::unhealthy, ReportedNews::crash_loop}) {
        report.news = news;
        send(link, report);
        CHECK(events_named(fmt::format("process.{}", to_string(news))) == 1);
    }
    const HostCounts counts = core->hosts().counts();
    CHECK(counts.exits.at("signal") == 1);
    CHECK(counts.crash_loops == 1);
    const HostsView shown = view();
    const ProcessRow& row = shown.hosts.at(0).processes.at(0);
    CHECK(row.exit_signal == 9);
    CHECK_FALSE(row.exit_code);
    CHECK(row.exit_reason == "signal 9 (SIGKILL)");
    CHECK(row.last_lines == "out of memory\n");
}

TEST_CASE_FIXTURE(HostWorld, "G-12: a lost host is shown as lost at once, for a while, with its processes") {
    const ConnectionId link = join_host();
    send(link, running("arena-1"));
    send(link, HostReport{});
    disconnect(link);
    CHECK(events_named("host.left") == 1);
    CHECK_FALSE(host().connected());
    CHECK(host().lost_at.value > 0);
    CHECK(view().hosts.at(0).processes.size() == 1);
    CHECK(core->hosts().counts().lost == 1);
    advance(HostsConfig{}.lost_kept - 1s);
    CHECK(core->hosts().size() == 1);
    advance(2s);
    CHECK(core->hosts().size() == 0);
}

TEST_CASE_FIXTURE(HostWorld, "G-12: a host that comes back is the same, less the processes it does not name") {
    const ConnectionId link = join_host();
    send(link, running("arena-1"));
    send(link, running("arena-2"));
    send(link, HostReport{});
    disconnect(link);
    const ConnectionId again = join_host();
    send(again, running("arena-2"));
    CHECK(host().processes.size() == 2);
    send(again, HostReport{});
    CHECK(host().processes.size() == 1);
    CHECK(host().connected());
    CHECK(core->hosts().size() == 1);
    // The old timer of its forgetting is gone.
    for (int i = 0; i < 400; ++i) {
        advance(5s);
        send(again, HostReport{});
    }
    CHECK(host().connected());
    send(again, ProcessGone{"arena-2"});
    CHECK(host().processes.empty());
}

TEST_CASE_FIXTURE(HostWorld, "G-12: a silent agent's host is lost and its link is closed") {
    const ConnectionId link = join_host();
    advance(Hosts::silence_max - 1ms);
    CHECK(host().connected());
    send(link, HostReport{});
    advance(Hosts::silence_max - 1ms);
    CHECK(host().connected());
    advance(1ms);
    CHECK_FALSE(host().connected());
    CHECK(closed(link));
    disconnect(link);
    CHECK(events_named("host.left") == 1);
}

TEST_CASE_FIXTURE(HostWorld, "G-12, B-1: an agent that Muster does not read is not silent") {
    const ConnectionId link = join_host();
    in_pass([&](const Pass& pass) { core->paused(pass, link); });
    advance(10min);
    CHECK(host().connected());
    in_pass([&](const Pass& pass) { core->resumed(pass, link); });
    advance(Hosts::silence_max - 1s);
    CHECK(host().connected());
    advance(2s);
    CHECK_FALSE(host().connected());
}

TEST_CASE_FIXTURE(HostWorld, "G-12: an agent that ends for good takes its host with it") {
    const ConnectionId link = join_host();
    send(link, running("arena-1"));
    send(link, HostGoodbye{});
    CHECK(closed(link));
    CHECK(core->hosts().size() == 0);
    disconnect(link);
    CHECK(events_named("host.left") == 1);
}

TEST_CASE_FIXTURE(HostWorld, "S-2: a certificate registers the host of its own name, and no other") {
    CHECK(hello_error(hello_of_host("eu-2"), "eu-1") == "Host name is not that of the certificate");
    CHECK(core->hosts().find("eu-2") == nullptr);
    CHECK(log_lines.has("Refused host eu-2 from 10.0.0.1: its certificate is for eu-1"));
    CHECK(core->hosts().counts().refused == 1);
    CHECK(hello_error(hello_of_host("eu-1"), "eu-1") == "");
    // A name that is taken is no other's either, and what it says of itself counts for nothing.
    CHECK(hello_error(hello_of_host("eu-1"), "eu-2") == "Host name is not that of the certificate");
    CHECK(hello_error(hello_of_host("eu-2"), "eu-2") == "");
    CHECK(core->hosts().size() == 2);
}

TEST_CASE_FIXTURE(HostWorld,
                  "G-12: a hello is refused for a bad token, name or address, and for a name that is taken") {
    HostHello hello = hello_of_host();
    hello.token = "wrong";
    CHECK(hello_error(hello) == "Invalid token");
    for (const char* name : {"", "a/b", "a b", "..", "\x1B[2J"}) {
        CAPTURE(name);
        CHECK(hello_error(hello_of_host(name)) == "Invalid host name");
    }
    hello = hello_of_host();
    hello.address = "example.com";
    CHECK(hello_error(hello) == "Invalid host address");
    CHECK(core->hosts().size() == 0);

    const ConnectionId link = join_host();
    CHECK(hello_error(hello_of_host()) == "Host already registered");
    CHECK(host().connected());
    // Its machine may be gone without a word.
    advance(Hosts::takeover_after);
    CHECK(hello_error(hello_of_host()) == "");
    CHECK(closed(link));
    disconnect(link);
    CHECK(host().connected());
}

TEST_CASE_FIXTURE(HostWorld, "G-12: the link of a host speaks for no game server, and the other way round") {
    const ConnectionId link = join_host();
    send(link, ServerHeartbeat{});
    CHECK(error_of(next<ServerHeartbeatAck>(link)) == "Server not registered");
    CHECK(closed(link));
    CHECK_FALSE(host().connected());

    const TestServer server = join(*this, 7777);
    send(server.link, HostReport{});
    CHECK(next<ServerError>(server.link).error == "Server not registered");
    CHECK(closed(server.link));

    const ConnectionId twice = join_host(hello_of_host("eu-2"));
    send(twice, hello_of_host("eu-3"));
    CHECK(closed(twice));
    CHECK(core->hosts().find("eu-3") == nullptr);
}

TEST_CASE_FIXTURE(HostWorld, "G-12: a hostile host cannot grow memory, and its absurd figures are brought to bounds") {
    const ConnectionId link = join_host();
    for (std::size_t i = 0; i < Hosts::processes_of_host_max; ++i) send(link, running(fmt::format("p-{}", i)));
    CHECK(quiet(link));
    send(link, running("one-more"));
    CHECK(next<ServerError>(link).error == "Too many processes");
    send(link, running("p/../1"));
    CHECK(next<ServerError>(link).error == "Invalid process name");
    CHECK(host().processes.size() == Hosts::processes_of_host_max);
    CHECK_FALSE(closed(link));

    ProcessReport absurd = running("p-0", -7);
    absurd.pid = absurd.restarts = absurd.exit_code = absurd.exit_signal = std::numeric_limits<std::int32_t>::min();
    absurd.started_at = absurd.exit_at = UnixMs{std::numeric_limits<std::int64_t>::min()};
    send(link, absurd);
    send(link, HostReport{std::numeric_limits<float>::quiet_NaN(), 1e30F, false});
    const HostsView shown = view();
    const HostRow& row = shown.hosts.at(0);
    CHECK(row.cpu_percent == 0);
    CHECK(row.memory_percent == 100);
    CHECK(row.processes[0].pid == 0);
    CHECK(row.processes[0].port == 0);
    CHECK(row.processes[0].restarts == 0);
    CHECK(row.processes[0].exit_at.value == 0);
    CHECK_FALSE(row.processes[0].exit_code);
}

TEST_CASE_FIXTURE(HostWorld, "G-12: of too many hosts the connected ones are kept, and lost ones make room") {
    const ConnectionId first = join_host(hello_of_host("h-0"));
    for (std::size_t i = 1; i < Hosts::hosts_max; ++i) join_host(hello_of_host(fmt::format("h-{}", i)));
    CHECK(hello_error(hello_of_host("late")) == "Too many hosts");
    disconnect(first);
    CHECK(hello_error(hello_of_host("late")) == "");
    CHECK(core->hosts().find("h-0") == nullptr);
    CHECK(core->hosts().size() == Hosts::hosts_max);
}

TEST_CASE_FIXTURE(HostWorld, "G-12: processes of all hosts have a limit together") {
    std::vector<ConnectionId> links;
    for (std::size_t i = 0; i < Hosts::processes_max / Hosts::processes_of_host_max; ++i) {
        links.push_back(join_host(hello_of_host(fmt::format("h-{}", i))));
        for (std::size_t p = 0; p < Hosts::processes_of_host_max; ++p)
            send(links.back(), running(fmt::format("p-{}", p)));
    }
    const ConnectionId late = join_host(hello_of_host("late"));
    send(late, running("p-1"));
    CHECK(next<ServerError>(late).error == "Too many processes");
    disconnect(links[0]);
    send(late, running("p-1"));
    CHECK(quiet(late));
}

TEST_CASE_FIXTURE(HostWorld, "G-12: one host's events have a limit, and the rest is counted") {
    const ConnectionId link = join_host();
    for (std::uint32_t i = 0; i < Hosts::events_per_minute_max + 5; ++i) send(link, killed("arena-1"));
    CHECK(events_named("process.exited") == Hosts::events_per_minute_max);
    CHECK(core->hosts().counts().events_held_back == 5);
    CHECK(core->hosts().counts().exits.at("signal") == Hosts::events_per_minute_max + 5);
    advance(10s);
    send(link, HostReport{});
    advance(15s);
    send(link, HostReport{});
    advance(15s);
    send(link, HostReport{});
    advance(15s);
    send(link, HostReport{});
    advance(6s);
    send(link, killed("arena-1"));
    CHECK(events_named("process.exited") == Hosts::events_per_minute_max + 1);
}

TEST_CASE_FIXTURE(HostWorld, "G-12: lost hosts and crash loops are among the troubles, with servers and matches") {
    const ConnectionId link = join_host();
    const TestServer server = join(*this, 7001);
    const ConnectionId matchmaker = join_matchmaker(*this);
    ProcessReport report = running("arena-1");
    report.server = server.id;
    send(link, report);
    report = running("arena-2", 7002);
    report.state = ProcessState::crash_loop;
    send(link, report);
    send(link, HostReport{});
    allocate(*this, matchmaker, server, 1);
    const auto troubles = [this] {
        FleetWalk walk;
        in_pass([&](const Pass& pass) {
            while (!walk.step(*core, pass, {})) continue;
        });
        return walk.take().hosts;
    };
    CHECK(troubles().lost.empty());
    CHECK(troubles().crash_loops == 1);
    CHECK(troubles().crash_loop_example == "eu-1/arena-2");
    disconnect(link);
    const HostTroubles now = troubles();
    REQUIRE(now.lost.size() == 1);
    CHECK(now.lost[0].name == "eu-1");
    CHECK(now.lost[0].servers == 1);
    CHECK(now.lost[0].matches == 1);
    CHECK(now.crash_loops == 0);
}

// A core with hosts: how agents speak to it, for tests.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "core/core_fixture.h"
#include "core/hosts.h"
#include "core/view_walk.h"

namespace muster::testing {

inline HostHello hello_of_host(std::string_view name = "eu-1") {
    return {"server-secret", HostNameText(name), "10.0.0.1", CoreWorld::eu, "1.0"};
}

inline ProcessReport running(std::string_view name, std::int32_t port = 7001) {
    ProcessReport report;
    report.process = ProcessNameText(name);
    report.run = "arena";
    report.state = ProcessState::ready;
    report.pid = 77;
    report.game_port = port;
    report.started_at = UnixMs{1'000};
    return report;
}

inline ProcessReport killed(std::string_view name, std::int32_t port = 7001) {
    ProcessReport report = running(name, port);
    report.news = ReportedNews::exited;
    report.state = ProcessState::backoff;
    report.pid = 0;
    report.exit_at = UnixMs{2'000};
    report.exit_signal = 9;
    report.exit_reason = "signal 9 (SIGKILL)";
    report.last_lines = "out of memory\n";
    return report;
}

struct HostWorld : CoreWorld {
    using CoreWorld::CoreWorld;

    ConnectionId join_host(const HostHello& hello = hello_of_host(), std::string_view ip = "10.0.0.1") {
        const ConnectionId link = connect(Port::servers, ip);
        send(link, hello);
        REQUIRE(error_of(next<HostWelcome>(link)) == "");
        return link;
    }
    void report_of(ConnectionId link, const HostReport& report = {}) {
        send(link, report);
        next<HostReportAck>(link);
    }
    // `certificate` is the name that the agent has proven, if any.
    std::string hello_error(const HostHello& hello, std::string certificate = {}) {
        const ConnectionId link = connect(Port::servers, "10.0.0.1", std::move(certificate));
        send(link, hello);
        std::string error = error_of(next<HostWelcome>(link));
        CHECK(closed(link) == !error.empty());
        return error;
    }
    const KnownHost& host(std::string_view name = "eu-1") {
        const KnownHost* found = core->hosts().find(name);
        REQUIRE(found != nullptr);
        return *found;
    }
    std::vector<HostVerdict> ask(const HostCommand& command, std::string_view name = "eu-1") {
        in_pass([&](const Pass&) { core->ask_host(5, name, command); });
        return core->take_host_verdicts();
    }
    HostsView view() {
        HostsWalk walk;
        in_pass([&](const Pass& pass) {
            while (!walk.step(*core, pass, {})) continue;
        });
        return walk.take();
    }
};

}  // namespace muster::testing

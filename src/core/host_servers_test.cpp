// Hosts whose processes are game servers (G-6, G-21, G-31).
#include <vector>

#include <doctest/doctest.h>

#include "core/hosts_fixture.h"

using namespace muster;
using namespace muster::testing;

TEST_CASE_FIXTURE(HostWorld, "G-6: the agent hears how many matches a process has that registered itself") {
    const ConnectionId link = join_host();
    const TestServer server = join(*this, 7001);
    const ConnectionId matchmaker = join_matchmaker(*this);
    ProcessReport report = running("arena-1");
    report.registers_itself = true;
    send(link, report);
    report_of(link);
    auto told = next<ProcessMatches>(link);
    CHECK(told.server == server.id);
    CHECK(told.matches == 0);
    CHECK(view().hosts.at(0).processes.at(0).server == server.id);
    allocate(*this, matchmaker, server, 1);
    report_of(link);
    CHECK(next<ProcessMatches>(link).matches == 1);
    report_of(link);
    CHECK(quiet(link));
    // Before it is ended it takes no new match, and the answer says what it has.
    send(link, ProcessDraining{"arena-1", true});
    CHECK(next<ProcessMatches>(link).matches == 1);
    CHECK(state_of(*this, server).status() == ServerStatus::draining);
    send(link, ProcessDraining{"unknown", true});
    CHECK(next<ProcessMatches>(link).server == ServerId{});
}

TEST_CASE_FIXTURE(HostWorld, "G-21: a crash of a process that registered itself aborts its match with those words") {
    const ConnectionId link = join_host();
    const TestServer server = join(*this, 7001);
    const ConnectionId matchmaker = join_matchmaker(*this);
    ProcessReport report = running("arena-1");
    report.registers_itself = true;
    send(link, report);
    send(link, HostReport{});
    allocate(*this, matchmaker, server, 1);
    disconnect(server.link);
    ProcessReport crash = killed("arena-1");
    crash.registers_itself = true;
    send(link, crash);
    CHECK(core->fleet().find(server.id) == nullptr);
    CHECK(next<MatchEventNotice>(matchmaker).reason == "Server crashed");
}

TEST_CASE_FIXTURE(HostWorld, "G-21: the server of a process that has crashed is removed at the word of its agent") {
    const TestServer server = join(*this, 7001);
    const ConnectionId matchmaker = join_matchmaker(*this);
    allocate(*this, matchmaker, server, 1);
    send(server.link, ServerCrashed{ServerId(server.id.value + 1)});
    CHECK(next<ServerError>(server.link).error == "Server not registered");
    send(server.link, ServerCrashed{server.id});
    CHECK(closed(server.link));
    CHECK(core->fleet().find(server.id) == nullptr);
    CHECK(next<MatchEventNotice>(matchmaker).reason == "Server crashed");
}

TEST_CASE_FIXTURE(HostWorld, "G-12: no host can speak for the game servers of another machine") {
    const TestServer server = join(*this, 7001);
    const ConnectionId link = join_host(hello_of_host(), "10.0.0.66");  // it claims 10.0.0.1
    ProcessReport report = running("arena-1");
    report.registers_itself = true;
    send(link, report);
    report_of(link);
    CHECK(quiet(link));
    send(link, ProcessDraining{"arena-1", true});
    CHECK(next<ProcessMatches>(link).server == ServerId{});
    CHECK(state_of(*this, server).status() == ServerStatus::available);
    ProcessReport crash = killed("arena-1");
    crash.registers_itself = true;
    send(link, crash);
    CHECK(core->fleet().find(server.id) != nullptr);
}

// Hosts whose processes are game servers (G-6, G-21, G-31).
#include <string>
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

// The agent tells how a process ended that had registered itself and had a match: what the matchmaker is told.
static std::string told_after_exit(HostWorld& world, std::int32_t code, std::int32_t signal) {
    const ConnectionId link = world.join_host();
    const TestServer server = join(world, 7001);
    const ConnectionId matchmaker = join_matchmaker(world);
    ProcessReport report = running("arena-1");
    report.registers_itself = true;
    world.send(link, report);
    world.send(link, HostReport{});
    allocate(world, matchmaker, server, 1);
    world.disconnect(server.link);
    ProcessReport exited = killed("arena-1");
    exited.registers_itself = true;
    exited.exit_code = code;
    exited.exit_signal = signal;
    world.send(link, exited);
    CHECK(world.core->fleet().find(server.id) == nullptr);
    return world.next<MatchEventNotice>(matchmaker).reason.string();
}

TEST_CASE_FIXTURE(HostWorld, "G-21: a crash of a process that registered itself aborts its match with those words") {
    SUBCASE("a signal") {
        CHECK(told_after_exit(*this, -1, 11) == "Server crashed");
    }
    SUBCASE("a code") {
        CHECK(told_after_exit(*this, 3, 0) == "Server crashed");
    }
    SUBCASE("G-7: nobody knows how it ended") {
        CHECK(told_after_exit(*this, -1, 0) == "Server left");
    }
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

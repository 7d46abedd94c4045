#include "agent/host_reports.h"

#include <memory>
#include <string>

#include <doctest/doctest.h>

using namespace muster;

namespace {

Process arena(std::int32_t number = 1) {
    Process process;
    process.id = ProcessId(number);
    process.name = "arena-" + std::to_string(number);
    RunConfig run;
    run.name = "arena";
    run.sdk = SdkKind::none;
    process.run = std::make_shared<const RunConfig>(run);
    process.state = ProcessState::ready;
    process.pid = 77;
    process.port = 7001;
    process.started_at = UnixMs{1'000};
    process.restarts = 2;
    return process;
}

}  // namespace

TEST_CASE("G-12: a process is reported as the supervisor knows it, with its game server") {
    HostReports reports;
    Process process = arena();
    reports.registered(process.id, ServerId(42));
    ProcessReport report = reports.of(process, ReportedNews::ready);
    CHECK(report.news == ReportedNews::ready);
    CHECK(report.process == "arena-1");
    CHECK(report.run == "arena");
    CHECK(report.state == ProcessState::ready);
    CHECK(report.pid == 77);
    CHECK(report.game_port == 7001);
    CHECK(report.server == ServerId(42));
    CHECK(report.restarts == 2);
    CHECK(report.exit_at.value == 0);
    CHECK_FALSE(report.registers_itself);

    process.pid.reset();
    process.last_exit = ProcessExit{{{}, 9}, UnixMs{5'000}, {}, "signal 9 (SIGKILL)"};
    reports.ended(process.id, "one\ntwo\n");
    report = reports.of(process, ReportedNews::exited);
    CHECK(report.pid == 0);
    CHECK(report.server == ServerId{});
    CHECK(report.exit_at.value == 5'000);
    CHECK(report.exit_code == -1);
    CHECK(report.exit_signal == 9);
    CHECK(report.exit_reason == "signal 9 (SIGKILL)");
    CHECK(report.last_lines == "one\ntwo");
}

TEST_CASE("G-12: a process that is gone is named once") {
    HostReports reports;
    const Process one = arena(1);
    const Process two = arena(2);
    reports.of(one, ReportedNews::none);
    reports.of(two, ReportedNews::none);
    CHECK(reports.take_gone({&one, &two}).empty());
    CHECK(reports.take_gone({&two}) == std::vector<std::string>{"arena-1"});
    CHECK(reports.take_gone({&two}).empty());
}

TEST_CASE("G-9: last lines are whole, within their limit and harmless") {
    CHECK(last_lines_of("", 10).empty());
    CHECK(last_lines_of("a\nb\n\n", 10) == "a\nb");
    CHECK(last_lines_of("first line\nlast\n", 8) == "last");
    CHECK(last_lines_of(std::string(1'000, 'x'), 8) == "xxxxxxxx");
    CHECK(last_lines_of("\x1B[2Jgone", 100).find('\x1B') == std::string::npos);
    // A character is never cut in two.
    const std::string cut = last_lines_of("ëëëëë", 5);
    CHECK(cut == "ëë");
}

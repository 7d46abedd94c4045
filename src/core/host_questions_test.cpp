// What operators ask of hosts (G-3, G-9).
#include <string>

#include <doctest/doctest.h>

#include "core/hosts_fixture.h"

using namespace muster;
using namespace muster::testing;

namespace {

using Kind = HostVerdict::Kind;

}  // namespace

TEST_CASE_FIXTURE(HostWorld, "G-3: an operator may restart, scale, drain and read, and the agent judges") {
    const ConnectionId link = join_host();
    send(link, running("arena-1"));
    CHECK(ask(RestartProcess{0, "arena-1"}).empty());
    const auto restart = next<RestartProcess>(link);
    CHECK(restart.process == "arena-1");
    send(link, HostAnswer{restart.question, true, ""});
    auto verdicts = core->take_host_verdicts();
    REQUIRE(verdicts.size() == 1);
    CHECK(verdicts[0].number == 5);
    CHECK(verdicts[0].kind == Kind::done);

    CHECK(ask(ScaleRun{0, "arena", 99}).empty());
    const auto scale = next<ScaleRun>(link);
    CHECK(scale.count == 99);
    send(link, HostAnswer{scale.question, false, "the count of arena is 0 to 4"});
    verdicts = core->take_host_verdicts();
    CHECK(verdicts.at(0).kind == Kind::refused);
    CHECK(verdicts.at(0).text == "the count of arena is 0 to 4");

    CHECK(ask(DrainHost{0, true}).empty());
    const auto drain = next<DrainHost>(link);
    CHECK(drain.draining);
    // An answer to a question that nobody asked, or that is settled, changes nothing.
    send(link, HostAnswer{restart.question, true, ""});
    send(link, HostAnswer{12'345, true, ""});
    CHECK(core->take_host_verdicts().empty());
    send(link, HostAnswer{drain.question, true, ""});
    CHECK(core->take_host_verdicts().at(0).kind == Kind::done);
}

TEST_CASE_FIXTURE(HostWorld, "G-9: a log comes in parts, whole, and never more than its limit") {
    const ConnectionId link = join_host();
    send(link, running("arena-1"));
    CHECK(ask(ReadLog{0, "arena-1", -1, 8192}).empty());
    const auto wish = next<ReadLog>(link);
    CHECK(wish.bytes == 8192);
    send(link, HostLogPart{wish.question, 0, false, "one\n"});
    CHECK(core->take_host_verdicts().empty());
    send(link, HostLogPart{wish.question, 17, true, "two\n"});
    auto verdicts = core->take_host_verdicts();
    CHECK(verdicts.at(0).text == "one\ntwo\n");
    CHECK(verdicts.at(0).position == 17);

    CHECK(ask(ReadLog{0, "arena-1", -1, 8192}).empty());
    const auto again = next<ReadLog>(link);
    const std::string part(LogText::size_max, 'x');
    for (int i = 0; i < 100; ++i) send(link, HostLogPart{again.question, 0, false, LogText(part)});
    send(link, HostLogPart{again.question, 0, true, "end"});
    CHECK(core->take_host_verdicts().at(0).text.size() == static_cast<std::size_t>(Hosts::log_bytes_max));
}

TEST_CASE_FIXTURE(HostWorld, "G-12: a question to a host is answered once, whatever the agent does") {
    CHECK(ask(DrainHost{}).at(0).kind == Kind::no_host);
    const ConnectionId link = join_host();
    send(link, running("arena-1"));
    CHECK(ask(RestartProcess{0, "arena-9"}).at(0).kind == Kind::no_process);
    CHECK(ask(DrainHost{}).empty());
    advance(Hosts::answer_limit);
    CHECK(core->take_host_verdicts().at(0).kind == Kind::late);
    for (std::size_t i = 0; i < Hosts::questions_of_host_max; ++i) CHECK(ask(DrainHost{}).empty());
    CHECK(ask(DrainHost{}).at(0).kind == Kind::busy);
    disconnect(link);
    const auto verdicts = core->take_host_verdicts();
    CHECK(verdicts.size() == Hosts::questions_of_host_max);
    CHECK(verdicts.at(0).kind == Kind::away);
    CHECK(ask(DrainHost{}).at(0).kind == Kind::away);
    // Another host may not answer for it.
    const ConnectionId other = join_host(hello_of_host("eu-2"));
    const ConnectionId back = join_host();
    forget_frames(back);
    CHECK(ask(DrainHost{}).empty());
    send(other, HostAnswer{next<DrainHost>(back).question, true, ""});
    CHECK(core->take_host_verdicts().empty());
}

TEST_CASE_FIXTURE(HostWorld, "G-31: the agent hears who may play, from a list before the offer and from one after it") {
    const ConnectionId link = join_host();
    const TestServer server = join(*this, 7001);
    const ConnectionId matchmaker = join_matchmaker(*this);
    ProcessReport report = running("arena-1");
    report.server = server.id;
    send(link, report);
    report_of(link);
    const auto list = [&](std::int32_t lobby, std::int32_t account) {
        send(matchmaker, MatchPlayers{LobbyId(lobby), {{AccountId(account)}}});
        CHECK(error_of(next<MatchPlayersResponse>(matchmaker)) == "");
    };
    list(1, 5);
    CHECK(quiet(link));
    allocate(*this, matchmaker, server, 1);
    const auto before = next<HostMatchPlayers>(link);
    CHECK(before.lobby == LobbyId(1));
    CHECK(before.accounts.items == std::vector{AccountId(5)});
    allocate(*this, matchmaker, server, 2);
    CHECK(quiet(link));
    list(2, 6);
    const auto after = next<HostMatchPlayers>(link);
    CHECK(after.lobby == LobbyId(2));
    CHECK(after.accounts.items == std::vector{AccountId(6)});
}

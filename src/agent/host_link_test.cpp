#include "agent/host_link.h"

#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "protocol/codec.h"
#include "protocol/frame_reader.h"

using namespace muster;
using namespace std::chrono_literals;

namespace {

// A Muster played by hand, and the link that speaks to it.
struct LinkWorld {
    std::vector<HostSaid> said;
    HostLink link{{"secret", "eu-1", "10.0.0.1", RegionId{2}, "1.0"}, [this](HostSaid each) { said.push_back(each); }};
    sdk::Time now{1s};
    std::vector<std::byte> heard;

    void connect() {
        REQUIRE(link.wants_connection());
        heard.clear();
        link.connected(now);
    }
    void lose() { link.disconnected(now); }
    void advance(sdk::Duration by) {
        now += by;
        link.tick(now);
    }
    template <class M>
    void say(const M& message) {
        std::vector<std::byte> bytes;
        encode(message, ByteOrder::little, bytes);
        link.receive(bytes, now);
    }
    void welcome() { say(HostWelcome{HostWelcome::Accepted{UnixMs{1}}}); }
    // The codes of what was said since the last call; the last of each kind is kept.
    std::vector<Code> listen() {
        const auto output = link.take_output();
        heard.insert(heard.end(), output.begin(), output.end());
        std::vector<Code> codes;
        while (true) {
            const FrameSplit frame = next_frame(heard, ByteOrder::little, 65'535);
            if (frame.kind != FrameSplit::Kind::frame) break;
            codes.push_back(frame.code);
            payloads[frame.code].emplace_back(frame.payload.begin(), frame.payload.end());
            heard.erase(heard.begin(), heard.begin() + static_cast<std::ptrdiff_t>(frame.size));
        }
        return codes;
    }
    template <class M>
    M last() {
        const auto message = decode<M>(payloads.at(M::code).back(), ByteOrder::little);
        REQUIRE(message.has_value());
        return *message;
    }
    std::map<Code, std::vector<std::vector<std::byte>>> payloads;

    static ProcessReport process(std::string_view name, ReportedNews news = ReportedNews::none) {
        ProcessReport report;
        report.process = ProcessNameText(name);
        report.run = "arena";
        report.news = news;
        return report;
    }
};

constexpr Code hello = HostHello::code;
constexpr Code host = HostReport::code;
constexpr Code one_process = ProcessReport::code;

}  // namespace

TEST_CASE_FIXTURE(LinkWorld, "G-12: after the hello all processes are told, then the host, and again after a loss") {
    link.tell(process("arena-1"));
    link.tell(process("arena-2"));
    link.tell(HostReport{10, 20, false});
    connect();
    CHECK(listen() == std::vector<Code>{hello});
    CHECK(last<HostHello>().host == "eu-1");
    CHECK(last<HostHello>().token == "secret");
    welcome();
    CHECK(listen() == std::vector<Code>{one_process, one_process, host});
    CHECK(std::get<HostLinkNews>(said.at(0)).online);
    lose();
    CHECK_FALSE(std::get<HostLinkNews>(said.at(1)).online);
    advance(20s);
    connect();
    welcome();
    CHECK(listen() == std::vector<Code>{hello, one_process, one_process, host});
}

TEST_CASE_FIXTURE(LinkWorld, "G-12: what the first report of the agent must end is told with it, not before") {
    connect();
    welcome();
    CHECK(listen() == std::vector<Code>{hello});
    link.tell(process("arena-1"));
    link.tell(HostReport{});
    CHECK(listen() == std::vector<Code>{one_process, one_process, host});
    link.tell(HostReport{});
    CHECK(listen() == std::vector<Code>{host});
}

TEST_CASE_FIXTURE(LinkWorld, "G-12: what happened without a link is told when there is one, up to a limit") {
    link.tell(HostReport{});
    for (std::size_t i = 0; i < HostLink::news_kept_max + 7; ++i) link.tell(process("arena-1", ReportedNews::exited));
    link.tell(process("arena-1"));
    connect();
    welcome();
    CHECK(listen().size() == 1 + HostLink::news_kept_max + 1 + 1);
    CHECK(last<ProcessReport>().news == ReportedNews::none);
    link.forget("arena-1");
    CHECK(listen() == std::vector<Code>{ProcessGone::code});
    lose();
    advance(20s);
    connect();
    welcome();
    CHECK(listen() == std::vector<Code>{hello, host});
}

TEST_CASE_FIXTURE(LinkWorld, "G-12: the end of a process that is gone for good is told when there is a link") {
    link.tell(HostReport{});
    link.tell(process("arena-1"));
    link.tell(process("old-1", ReportedNews::started));
    link.tell(process("old-1", ReportedNews::exited));
    link.forget("old-1");
    connect();
    welcome();
    CHECK(listen() == std::vector<Code>{hello, one_process, one_process, ProcessGone::code, one_process, host});
    CHECK(last<ProcessGone>().process == "old-1");
    CHECK(last<ProcessReport>().process == "arena-1");
}

TEST_CASE_FIXTURE(LinkWorld,
                  "G-3: the only things that Muster can ask for reach the agent, and nothing before the welcome") {
    connect();
    say(RestartProcess{1, "arena-1"});
    CHECK(said.empty());
    welcome();
    say(RestartProcess{2, "arena-1"});
    say(ScaleRun{3, "arena", 4});
    say(DrainHost{4, true});
    say(ReadLog{5, "arena-1", -1, 100});
    say(ProcessMatches{"arena-1", ServerId(7), 1});
    say(AllocateMatch{});  // for game servers
    REQUIRE(said.size() == 6);
    CHECK(std::get<RestartProcess>(said[1]).question == 2);
    CHECK(std::get<ScaleRun>(said[2]).count == 4);
    CHECK(std::get<DrainHost>(said[3]).draining);
    CHECK(std::get<ReadLog>(said[4]).bytes == 100);
    link.answer(HostAnswer{2, true, ""});
    listen();
    CHECK(last<HostAnswer>().question == 2);
    lose();
    link.answer(HostAnswer{3, true, ""});
    CHECK(listen().empty());
}

TEST_CASE_FIXTURE(LinkWorld, "G-11: a refused hello is told once for each reason, and tried again with a pause") {
    connect();
    say(HostWelcome{Refused{"Host already registered"}});
    REQUIRE(said.size() == 1);
    CHECK(std::get<HostLinkNews>(said[0]).problem == "Host already registered");
    CHECK_FALSE(link.wants_connection());
    lose();
    advance(20s);
    connect();
    say(HostWelcome{Refused{"Host already registered"}});
    CHECK(said.size() == 1);
}

TEST_CASE_FIXTURE(LinkWorld,
                  "G-11: why there is no link is told once for each change of the reason, also before the first") {
    const auto fail = [&](std::string_view address, const char* why) {
        link.failed(address, {sdk::ErrorCode::connection_lost, why});
        lose();
        advance(20s);
    };
    const auto told = [&] {
        std::vector<std::string> problems;
        for (const HostSaid& each : std::exchange(said, {})) problems.push_back(std::get<HostLinkNews>(each).problem);
        return problems;
    };
    using Problems = std::vector<std::string>;
    for (int i = 0; i < 5; ++i) fail("a:1", "Connection refused");
    CHECK(told() == Problems{"a:1: Connection refused"});
    // Of two addresses that are tried in turn each has its own.
    for (int i = 0; i < 5; ++i) {
        fail("b:1", "no such host");
        fail("a:1", "Connection refused");
    }
    CHECK(told() == Problems{"b:1: no such host"});
    fail("a:1", "Muster refuses the certificate: it has expired");
    fail("a:1", "Connection refused");
    CHECK(told() == Problems{"a:1: Muster refuses the certificate: it has expired", "a:1: Connection refused"});
    connect();
    welcome();
    said.clear();
    fail("a:1", "Connection refused");
    CHECK(told() == Problems{"a:1: Connection refused"});
}

TEST_CASE_FIXTURE(LinkWorld, "G-11: a refusal is not covered by how the connection ends after it") {
    connect();
    say(HostWelcome{Refused{"Invalid token"}});
    link.failed("a:1", {sdk::ErrorCode::connection_lost, "closed by Muster"});
    lose();
    REQUIRE(said.size() == 1);
    CHECK(std::get<HostLinkNews>(said[0]).problem == "Invalid token");
    CHECK(std::get<HostLinkNews>(said[0]).by_muster);
}

TEST_CASE_FIXTURE(LinkWorld, "G-11: a hello that nobody answers is told") {
    connect();
    advance(sdk::Link::greeting_max - 1ms);
    CHECK(said.empty());
    advance(1ms);
    REQUIRE(said.size() == 1);
    CHECK(std::get<HostLinkNews>(said[0]).problem == "nobody answers the hello; is it Muster's server port?");
}

TEST_CASE_FIXTURE(LinkWorld, "G-11: attempts are spread by full jitter and never more than ten seconds apart") {
    for (int i = 0; i < 50; ++i) {
        connect();
        lose();
        const auto next = link.next_tick();
        REQUIRE(next.has_value());
        CHECK(*next - now <= 10s);
        advance(10s);
    }
}

TEST_CASE_FIXTURE(LinkWorld, "G-12: a Muster that answers no report is given up") {
    link.tell(HostReport{});
    connect();
    welcome();
    say(HostReportAck{});
    advance(1h);
    CHECK(link.online());
    link.tell(HostReport{});
    advance(HostLink::answer_max - 1ms);
    link.tell(HostReport{});
    CHECK(link.online());
    advance(1ms);
    CHECK_FALSE(link.wants_connection());
}

TEST_CASE_FIXTURE(LinkWorld, "G-12: garbage from Muster drops the link and nothing else") {
    connect();
    welcome();
    const std::vector<std::byte> garbage(64, std::byte{0});
    link.receive(garbage, now);
    CHECK_FALSE(link.wants_connection());
    lose();
    advance(20s);
    CHECK(link.wants_connection());
}

TEST_CASE_FIXTURE(LinkWorld, "G-12: a goodbye is said and the link stays closed") {
    connect();
    welcome();
    link.goodbye();
    CHECK(listen().back() == HostGoodbye::code);
    CHECK_FALSE(link.wants_connection());
    lose();
    advance(1h);
    CHECK_FALSE(link.wants_connection());
}

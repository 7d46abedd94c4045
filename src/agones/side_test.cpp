#include "agones/side.h"

#include <atomic>
#include <chrono>
#include <map>
#include <string>

#include <doctest/doctest.h>
#include <unistd.h>

#include "base/seeded_entropy.h"
#include "base/system_clock.h"
#include "testing/loopback_peer.h"

using namespace muster;
using namespace muster::agones;
using namespace std::chrono_literals;
using Kind = SdkFact::Kind;

namespace {

struct KeptLog final : LogSink {
    std::string text;
    void write(const LogRecord& record) noexcept override { text += record.line; }
};

struct AgonesSideFixture {
    SystemClock clock;
    KeptLog sink;
    Log log{clock, sink};
    LoopbackServer loopback{clock, log};
    SeededEntropy entropy{3};
    std::atomic<int> woken{0};
    Services services{loopback, nullptr, clock, entropy, log, [this] { ++woken; }};
    Process process = [] {
        Process made;
        made.name = "host-arena-1";
        made.process = "arena-1";
        made.fleet = "arena";
        return made;
    }();

    std::uint16_t begin(Side& side) {
        for (const auto& each : side.begin_life(clock.now(), "life"))
            if (each.name == "AGONES_SDK_HTTP_PORT") return static_cast<std::uint16_t>(std::stoi(each.value));
        FAIL("no port");
        return 0;
    }

    // What an agent that is gone has left of a process with the match 5.
    struct Left {
        std::uint16_t port = 0;
        std::string saved{};
    };
    Left left_with_a_match() {
        Side side(process, services);
        const std::uint16_t port = begin(side);
        LoopbackPeer(port).ask("POST", "/health", "{}");
        LoopbackPeer(port).ask("POST", "/ready", "{}");
        side.offer(clock.now(), {LobbyId{5}, 0, 0, "t"});
        return {port, side.saved()};
    }
};

bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE_FIXTURE(AgonesSideFixture, "G-21: Ready over HTTP wakes the agent, and an offer reaches the watcher") {
    Side side(process, services);
    const std::uint16_t port = begin(side);
    LoopbackPeer game(port);
    CHECK(has(game.ask("POST", "/ready", "{}"), "{}"));
    CHECK(woken == 1);
    auto facts = side.take_facts(clock.now());
    REQUIRE(facts.size() == 1);
    CHECK(facts[0].kind == Kind::ready);

    LoopbackPeer watcher(port);
    watcher.send("GET /watch/gameserver HTTP/1.1\r\nHost: h\r\n\r\n");
    CHECK(has(watcher.read_until("\"Ready\""), "{\"result\":{"));
    side.offer(clock.now(), {LobbyId{77}, 1, 2, "token"});
    CHECK(has(watcher.read_until("\"Allocated\""), "\"muster.dev/lobby\":\"77\""));
    facts = side.take_facts(clock.now());
    REQUIRE(facts.size() == 2);
    CHECK(facts[1] == SdkFact{Kind::match_ready, LobbyId{77}, ""});
}

TEST_CASE_FIXTURE(AgonesSideFixture, "G-21: each life has a uid of its own, and nobody speaks for one that is over") {
    Side side(process, services);
    const std::string first = LoopbackPeer(begin(side)).ask("GET", "/gameserver", "");
    const std::uint16_t port = begin(side);
    const std::string second = LoopbackPeer(port).ask("GET", "/gameserver", "");
    const auto uid = [](const std::string& text) { return text.substr(text.find("\"uid\":"), 44); };
    CHECK(uid(first) != uid(second));
    LoopbackPeer late(port);
    side.end_life(clock.now());
    CHECK(!has(late.ask("POST", "/ready", "{}"), " 200 "));
    CHECK(side.take_facts(clock.now()).empty());
    CHECK(side.saved().empty());
}

TEST_CASE_FIXTURE(AgonesSideFixture, "G-7: another agent serves the same process on the same port, match included") {
    const auto [port, saved] = left_with_a_match();
    CHECK(!has(saved, "\n"));
    Side next(process, services);
    next.restore(clock.now(), "life", saved);
    CHECK(next.take_facts(clock.now()).empty());
    CHECK(has(LoopbackPeer(port).ask("GET", "/gameserver", ""), "\"Allocated\""));
    LoopbackPeer(port).ask("POST", "/ready", "{}");
    const auto facts = next.take_facts(clock.now());
    REQUIRE(facts.size() == 2);
    CHECK(facts[0] == SdkFact{Kind::match_ended, LobbyId{5}, ""});
}

TEST_CASE_FIXTURE(AgonesSideFixture,
                  "G-7: who watched the agent before is out of reach until it watches the next one") {
    Left left;
    {
        Side side(process, services);
        left.port = begin(side);
        LoopbackPeer watcher(left.port);
        LoopbackPeer(left.port).ask("POST", "/health", "{}");
        const auto unwatched = side.revision();
        woken = 0;
        CHECK_FALSE(side.take_urgent());
        watcher.ask("GET", "/watch/gameserver", "");
        CHECK(side.revision() != unwatched);
        CHECK(woken > 0);
        CHECK(side.take_urgent());
        CHECK_FALSE(side.take_urgent());
        left.saved = side.saved();
    }
    Side next(process, services);
    next.restore(clock.now(), "life", left.saved);
    const auto lost = next.take_facts(clock.now());
    REQUIRE(lost.size() == 1);
    CHECK(lost[0].kind == Kind::out_of_reach);
    CHECK(has(next.saved(), "\"watched\":true"));
    woken = 0;
    LoopbackPeer(left.port).ask("GET", "/watch/gameserver", "");
    CHECK(woken > 0);
    const auto back = next.take_facts(clock.now());
    REQUIRE(back.size() == 1);
    CHECK(back[0].kind == Kind::in_reach);
}

TEST_CASE_FIXTURE(AgonesSideFixture,
                  "G-7: somebody else's port stops the SDK, not the process, until it is free again") {
    const auto [port, saved] = left_with_a_match();
    auto thief = loopback.open_http2(port, [](int fd) { ::close(fd); });
    Side next(process, services);
    const Time began = clock.now();
    next.restore(began, "life", saved);
    CHECK(has(sink.text, "Process arena-1: "));  // as every other line names it
    CHECK(next.saved() == saved);
    // However long it takes: no heartbeat can be missed on a port that nobody serves.
    for (const auto after : {1s, 60s, 3600s}) {
        CHECK(next.take_facts(began + after).empty());
        CHECK(next.next_tick() == began + after + 1s);
        CHECK(next.saved() == saved);
    }
    thief.reset();
    CHECK(next.take_facts(began + 3601s).empty());
    CHECK(has(LoopbackPeer(port).ask("GET", "/gameserver", ""), "\"Allocated\""));
    next.end_life(began + 3602s);
    CHECK(next.saved().empty());
}

TEST_CASE_FIXTURE(AgonesSideFixture, "G-7: a session that cannot be continued ends its process, with the reason") {
    Side side(process, services);
    for (const char* text : {"", "garbage", "{}", R"({"http_port":1,"grpc_port":0,"session":"{}"})"}) {
        side.restore(clock.now(), "life", text);
        const auto facts = side.take_facts(clock.now());
        REQUIRE(facts.size() == 1);
        CHECK(facts[0].kind == Kind::unhealthy);
        CHECK(has(facts[0].reason, "cannot be continued"));
    }
}

TEST_CASE_FIXTURE(AgonesSideFixture,
                  "G-20: a watcher that does not keep up misses the oldest changes, never the newest") {
    Watch watch;
    for (int i = 0; i < 100; ++i) {
        GameServer server;
        server.version = i;
        watch.push(std::make_shared<const GameServer>(server));
    }
    std::int64_t last = 0;
    int count = 0;
    while (const auto server = watch.next()) {
        last = (*server)->version;
        ++count;
    }
    CHECK(count == 16);
    CHECK(last == 99);
}

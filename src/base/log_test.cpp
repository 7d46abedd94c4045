#include "base/log.h"

#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/virtual_clock.h"
#include "testing/kept_lines.h"

using namespace muster;
using namespace std::chrono_literals;

namespace {

struct Logging {
    VirtualClock clock;
    KeptLines sink;
    Log log{clock, sink};
};

}  // namespace

TEST_CASE_FIXTURE(Logging, "a line is the sentence, then its fields") {
    log.with(LogLevel::info, {{"port", "servers"}, {"links", 3}, {"share", 0.5}, {"open", true}}, "Listening on {}",
             "[::1]:11032");
    REQUIRE(sink.lines.size() == 1);
    CHECK(sink.lines[0] == "Listening on [::1]:11032 port=servers links=3 share=0.5 open=true");
}

TEST_CASE_FIXTURE(Logging, "levels under the least are not written, and the least can change") {
    log.debug("quiet");
    CHECK(sink.lines.empty());
    log.set_least(LogLevel::debug);
    log.debug("heard");
    CHECK(sink.lines == std::vector<std::string>{"heard"});
}

TEST_CASE_FIXTURE(Logging, "fault 45: a hostile name cannot fake a line or colour a terminal") {
    const std::string hostile = "Bob\n2026 error \x1b[31mfire\"";
    log.with(LogLevel::warning, {{"name", hostile}, {"empty", ""}}, "Kicking idle player {}", hostile);
    REQUIRE(sink.lines.size() == 1);
    CHECK(sink.lines[0] ==
          R"(Kicking idle player Bob\x0a2026 error \x1b[31mfire" name="Bob\x0a2026 error \x1b[31mfire\"" empty="")");
}

TEST_CASE_FIXTURE(Logging, "fault 45: a name that turns the text's direction, or drives a terminal by C1, is escaped") {
    log.with(LogLevel::info, {{"name", "\u202egnp\u2066"}, {"two words", "\u009b31m \u2028"}}, "Player {}",
             "Zoë\u202e");
    CHECK(sink.lines ==
          std::vector<std::string>{R"(Player Zoë\u202e name=\u202egnp\u2066 two words="\x9b31m \u2028")"});
}

TEST_CASE_FIXTURE(Logging, "how many lines were held back is said after ten seconds, though no further line comes") {
    for (int i = 0; i < 30; ++i) log.warning("refused {}", i);
    log.tell_held_back();
    CHECK(sink.lines.size() == Log::burst);
    clock.advance(Log::window - 1ms);
    log.tell_held_back();
    CHECK(sink.lines.size() == Log::burst);
    clock.advance(1ms);
    log.tell_held_back();
    log.tell_held_back();
    REQUIRE(sink.lines.size() == Log::burst + 1);
    CHECK(sink.lines.back() == "Held back 10 more lines like: refused 19");
    log.warning("refused {}", 30);
    CHECK(sink.lines.back() == "refused 30");
}

TEST_CASE_FIXTURE(Logging, "S-4: an address that floods the log takes half of its lines, and others are told") {
    const auto refuse = [&](const std::string& peer) { log.with(LogLevel::warning, {{"peer", peer}}, "refused"); };
    const auto told = [&](const std::string& peer) {
        return std::count(sink.lines.begin(), sink.lines.end(), "refused peer=" + peer);
    };
    for (int i = 0; i < 1'000; ++i) refuse("203.0.113.1");
    CHECK(told("203.0.113.1") == Log::burst / 2);
    for (int i = 2; i < 100; ++i) {
        for (int again = 0; again < 5; ++again) refuse("203.0.113." + std::to_string(i));
    }
    CHECK(sink.lines.size() == Log::burst);
    CHECK(sink.lines[Log::burst / 2] == "refused peer=203.0.113.2 held_back=990");
    for (int i = 3; i < 12; ++i) CHECK(told("203.0.113." + std::to_string(i)) <= 1);
    CHECK(log.suppressed() == 1'000 + 98 * 5 - Log::burst);

    // The next window is another matter.
    clock.advance(Log::window);
    log.tell_held_back();
    CHECK(sink.lines.back().starts_with("Held back "));
    refuse("203.0.113.1");
    CHECK(sink.lines.back() == "refused peer=203.0.113.1");
    // Only the last line that passed is an example, however few have passed.
    for (int i = 0; i < 20; ++i) refuse("203.0.113.1");
    clock.advance(Log::window);
    log.tell_held_back();
    CHECK(sink.lines.back() == "Held back 11 more lines like: refused peer=203.0.113.1");
}

TEST_CASE_FIXTURE(Logging, "a flood of one message is held back and counted, others pass") {
    for (int i = 0; i < 1'000; ++i) log.warning("refused {}", i);
    log.warning("something else");
    CHECK(sink.lines.size() == Log::burst + 1);
    CHECK(log.suppressed() == 1'000 - Log::burst);

    clock.advance(Log::window);
    log.warning("refused {}", 1'000);
    CHECK(sink.lines.back() == "refused 1000 held_back=980");
    log.warning("refused {}", 1'001);
    CHECK(sink.lines.back() == "refused 1001");
}

#include "cli/match_timeline.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace muster {
namespace {

std::vector<std::string> told(std::string_view match, const std::vector<std::string_view>& events) {
    const RegionNames regions(*JsonValue::parse(R"({"regions":[{"id":2,"name":"EU"}]})"));
    std::vector<JsonValue> parsed;
    for (const std::string_view event : events) parsed.push_back(*JsonValue::parse(event));
    std::vector<std::string> lines;
    for (const TimelineStep& step : timeline_of(*JsonValue::parse(match), parsed, regions))
        lines.push_back(fmt::format("{} {}: {}", step.time_ms, step.what, step.text));
    return lines;
}

}  // namespace

TEST_CASE("O-3: a match is told from its request to its end, with why each server was chosen and who refused") {
    const auto lines = told(
        R"({"lobby_id":7,"requested_at_ms":100,"matchmaker":"chat-1","player_count":10,"region":2,
            "players":[{"id":31,"joined_at_ms":160},{"id":32,"joined_at_ms":null}]})",
        {R"({"time_ms":100,"type":"match.offered","server_id":12,"attempt":1,"candidates":833,"score":97.3,"load":1,
             "next_best":[{"id":5,"score":97.1,"load":1},{"id":9,"score":96.8,"load":2}]})",
         R"({"time_ms":120,"type":"match.declined","server_id":12,"reason":"refused by the server"})",
         R"({"time_ms":120,"type":"match.offered","server_id":5,"attempt":2,"candidates":1,"score":97.1,"load":1})",
         R"({"time_ms":150,"type":"match.allocated","server_id":5,"seconds":0.05})",
         R"({"time_ms":170,"type":"match.started","server_id":5})",
         R"({"time_ms":180,"type":"operator.action","who":"10.0.0.9","action":"abort","reason":"late"})",
         R"({"time_ms":190,"type":"match.aborted","server_id":5,"reason":"late"})"});
    CHECK(lines == std::vector<std::string>{
                       "100 requested: by chat-1: 10 players in EU",
                       std::string("100 offered: server 12, best of 833: score 97.30, load 1; ") +
                           "next 5 (97.10, load 1), 9 (96.80, load 2)",
                       "120 declined: server 12: refused by the server",
                       "120 offered: server 5, the only candidate: score 97.10, load 1; offer 2",
                       "150 allocated: server 5, 50 ms after the request",
                       "160 let in: player 31",
                       "170 started: server 5",
                       "180 operator: abort by 10.0.0.9: late",
                       "190 aborted: server 5: late",
                   });
}

TEST_CASE("O-3: a request that came to nothing is told by its events alone") {
    CHECK(told("null", {R"({"time_ms":1,"type":"match.requested","matchmaker":"@http","who":"::1","region":2})",
                        R"({"time_ms":2,"type":"match.refused","reason":"No servers available","seconds":0})",
                        R"({"time_ms":3,"type":"match.wrong_tokens","server_id":4,"count":10})"}) ==
          std::vector<std::string>{"1 requested: by @http over HTTP, from ::1, for EU",
                                   "2 refused: after 0 ms: No servers available",
                                   "3 tokens: 10 wrong ones tried on server 4"});
}

}  // namespace muster

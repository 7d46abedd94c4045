#include "cli/event_line.h"

#include <doctest/doctest.h>

namespace muster {
namespace {

// What follows the time, which is the local one.
std::string told(std::string_view json) {
    const RegionNames regions(*JsonValue::parse(R"({"regions":[{"id":2,"name":"EU"}]})"));
    const std::string line = event_line(*JsonValue::parse(json), regions, {});
    return line.substr(line.find("  ") + 2);
}

}  // namespace

TEST_CASE("O-3: an event is one line: the region by its name, times rounded, nothing that is empty") {
    CHECK(
        told(
            R"({"id":1,"time_ms":5,"type":"match.allocated","lobby_id":5,"region":2,"matchmaker":"","seconds":0.0123456})") ==
        "match.allocated    lobby_id=5 region=EU took=12ms");
    CHECK(
        told(
            R"({"type":"server.removed","region":7,"reason":"gone for good","silence_seconds":31.2431,"uptime_seconds":18600.5})") ==
        "server.removed     region=7 reason=\"gone for good\" silence=31.2s uptime=5h10min");
    CHECK(told(R"({"type":"server.draining","server_id":3,"draining":false,"by":null})") ==
          "server.draining    server_id=3 draining=false");
    CHECK(told(R"({"type":"brake.off"})") == "brake.off");
}

TEST_CASE("O-3: a reason with quotes in it does not pass for several fields") {
    CHECK(told(R"({"type":"operator.action","reason":"x\" who=\"root"})") ==
          R"(operator.action    reason="x\" who=\"root")");
    CHECK(told(R"({"type":"operator.action","reason":"a\\b"})") == R"(operator.action    reason=a\b)");
}

TEST_CASE("lines of several days stand in columns") {
    const JsonValue event = *JsonValue::parse(R"({"time_ms":5,"type":"brake.on"})");
    const std::string line = event_line(event, RegionNames(JsonValue()), {.moment_columns = 30});
    CHECK(line.find("brake.on") == 32);
}

}  // namespace muster

#include "protocol/reference.h"

#include <fstream>
#include <iterator>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "base/json_fields.h"
#include "protocol/messages.h"
#include "protocol/payload_text.h"

using namespace muster;

TEST_CASE("W-4: docs/PROTOCOL.md says what the declarations say") {
    std::ifstream file(MUSTER_SOURCE_DIR "/docs/PROTOCOL.md");
    const std::string page{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    INFO("renew it with: muster protocol > docs/PROTOCOL.md");
    // Not compared inside CHECK, which would print both pages.
    const bool same = page == protocol_reference();
    CHECK(same);
}

TEST_CASE("W-4: the reference has a row for every message, with its payload") {
    const std::string page = protocol_reference();
    for_each_message([&]<class M>() {
        CAPTURE(M::name);
        const std::string row = fmt::format("| {} | {} | {} |", M::name, to_string(M::direction), payload_text<M>());
        CHECK(page.find(row) != std::string::npos);
    });
}

TEST_CASE("W-4: payloads are written as the specification writes them") {
    CHECK(payload_text<ServerHeartbeat>() == "i32 server_id, i32 match_count, f32 cpu, f32 memory");
    CHECK(payload_text<ServerHeartbeatAck>() == "i8 1, i64 time_ms · or · i8 0, string(256) error");
    CHECK(payload_text<MatchmakerHandshake>() == "string(256) token, string(64) chat_server_id, i8 n, regions: n × i8");
    CHECK(payload_text<AvailableServer>() == "i32 id, string(45) ip, i32 port, i8 region, i32 max_matches");
    CHECK(payload_text<ServerError>() == "u16 code, string(256) error");
    CHECK(payload_text<SetDraining>() == "i32 server_id, i8 draining (1 or 0)");
    CHECK(payload_text<MatchmakerHeartbeatAck>() == "i8 success (1), i64 time_ms");
    CHECK(payload_text<TimeChange>() == "u8 update_type (1 hour, 2 minute, 3 day), u8 value");
    CHECK(payload_text<Ping>() == "(empty)");
}

TEST_CASE("W-4: the reference shows each port's bytes by example") {
    const std::string page = protocol_reference();
    for (const std::string_view line : {"CD CC 34 42                                      cpu = 45.2\n",
                                        "72 06 00 00                                      average_rating = 1650\n",
                                        "00 15                                            code = 21, MSG_TIME\n"}) {
        CAPTURE(line);
        CHECK(page.find(line) != std::string::npos);
    }
}

TEST_CASE("W-4: the JSON has every message with its code and payload") {
    const std::string json = protocol_json();
    for_each_message([&]<class M>() {
        CAPTURE(M::name);
        const std::string beginning = fmt::format(R"({{"code":{},"name":"{}","direction":"{}","payload":{},)", M::code,
                                                  M::name, to_string(M::direction), json_quoted(payload_text<M>()));
        CHECK(json.find(beginning) != std::string::npos);
    });
    CHECK(json.find(R"({"text":"No servers available","label":"no_servers_available"})") != std::string::npos);
}

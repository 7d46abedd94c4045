#include "protocol/messages.h"

#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "protocol/dispatch.h"

using namespace muster;

namespace {

struct Row {
    Code code;
    std::string_view direction;
    std::string_view name;
};

// The three tables of the specification once more, written by hand.
const std::vector<Row> server_rows{
    {0x1000, "in", "NET_CHAT_SV_HANDSHAKE"},
    {0x1001, "out", "NET_CHAT_SV_HANDSHAKE_RESPONSE"},
    {0x1002, "in", "NET_CHAT_SV_HEARTBEAT"},
    {0x1003, "out", "NET_CHAT_SV_HEARTBEAT_ACK"},
    {0x1004, "out", "NET_CHAT_SV_ALLOCATE_MATCH"},
    {0x1005, "in", "NET_CHAT_SV_ALLOCATE_MATCH_ACK"},
    {0x1006, "in", "NET_CHAT_SV_READY_FOR_MATCH"},
    {0x1007, "out", "NET_CHAT_SV_READY_FOR_MATCH_RESPONSE"},
    {0x1008, "in", "NET_CHAT_SV_VALIDATE_TOKEN"},
    {0x1009, "out", "NET_CHAT_SV_VALIDATE_TOKEN_RESPONSE"},
    {0x100A, "in", "NET_CHAT_SV_MATCH_STARTED"},
    {0x100B, "in", "NET_CHAT_SV_MATCH_ENDED"},
    {0x100C, "out", "NET_CHAT_SV_MATCH_RESPONSE"},
    {0x100D, "out", "NET_CHAT_SV_ABORT_MATCH"},
    {0x100E, "in", "NET_CHAT_SV_SET_DRAINING"},
    {0x100F, "out", "NET_CHAT_SV_STATUS"},
    {0x1010, "in", "NET_CHAT_SV_GOODBYE"},
    {0x1011, "out", "NET_CHAT_SV_ERROR"},
    {0x1012, "in", "NET_CHAT_SV_CRASHED"},
    {0x1020, "in", "NET_HOST_HELLO"},
    {0x1021, "out", "NET_HOST_WELCOME"},
    {0x1022, "in", "NET_HOST_REPORT"},
    {0x1023, "in", "NET_HOST_PROCESS"},
    {0x1024, "in", "NET_HOST_PROCESS_GONE"},
    {0x1025, "in", "NET_HOST_ANSWER"},
    {0x1026, "in", "NET_HOST_LOG_PART"},
    {0x1027, "in", "NET_HOST_GOODBYE"},
    {0x1028, "in", "NET_HOST_PROCESS_DRAINING"},
    {0x1029, "out", "NET_HOST_PROCESS_MATCHES"},
    {0x102A, "out", "NET_HOST_REPORT_ACK"},
    {0x1030, "out", "NET_HOST_DRAIN"},
    {0x1031, "out", "NET_HOST_RESTART"},
    {0x1032, "out", "NET_HOST_SCALE"},
    {0x1033, "out", "NET_HOST_READ_LOG"},
    {0x1034, "out", "NET_HOST_MATCH_PLAYERS"},
};
const std::vector<Row> matchmaker_rows{
    {0x2000, "in", "NET_CHAT_MGR_HANDSHAKE"},
    {0x2001, "out", "NET_CHAT_MGR_HANDSHAKE_RESPONSE"},
    {0x2002, "in", "NET_CHAT_MGR_SERVER_ALLOCATION_REQUEST"},
    {0x2003, "out", "NET_CHAT_MGR_SERVER_ALLOCATION_RESPONSE"},
    {0x2004, "in", "NET_CHAT_MGR_HEARTBEAT"},
    {0x2005, "out", "NET_CHAT_MGR_HEARTBEAT_ACK"},
    {0x2006, "out", "NET_CHAT_MGR_MATCH_EVENT"},
    {0x2007, "in", "NET_CHAT_MGR_CANCEL"},
    {0x2008, "in", "NET_CHAT_MGR_MATCH_PLAYERS"},
    {0x2009, "out", "NET_CHAT_MGR_MATCH_PLAYERS_RESPONSE"},
    {0x200A, "out", "NET_CHAT_MGR_ERROR"},
};
const std::vector<Row> player_rows{
    {6, "in", "MSG_LOGOUT"},         {9, "in out", "MSG_PING"},         {10, "in out", "MSG_LOGIN"},
    {21, "out", "MSG_TIME"},         {24, "out", "MSG_SERVER_CLOSE"},   {74, "out", "MSG_TIME_UPDATE"},
    {117, "in out", "MSG_PING_REQ"}, {200, "in out", "MSG_HEARTBEAT"},  {201, "in out", "MSG_CLOCK_SYNC"},
    {202, "out", "MSG_MATCH_START"}, {203, "out", "MSG_MATCH_ABORTED"}, {204, "in", "MSG_ACTIVITY"},
};

const std::vector<Row>& rows(Port port) {
    if (port == Port::servers) return server_rows;
    return port == Port::matchmakers ? matchmaker_rows : player_rows;
}

struct Expected {
    CodeClass verdict = CodeClass::unknown_code;
    std::string_view name;
};

Expected expected(Port port, Direction direction, Code code) {
    if (port == Port::players && code >= 1000 && code <= 4095) {
        if (direction == Direction::in) return {CodeClass::known, "game"};
        return {CodeClass::wrong_direction, ""};
    }
    const auto& table = rows(port);
    const auto row = std::ranges::find(table, code, &Row::code);
    if (row == table.end()) return {};
    if (row->direction.find(to_string(direction)) == std::string_view::npos) return {CodeClass::wrong_direction, ""};
    return {CodeClass::known, row->name};
}

}  // namespace

TEST_CASE("W-5, fault 40: the whole matrix of code, port and direction is as the specification says") {
    for (const Port port : ports) {
        for (const Direction direction : directions) {
            for (std::uint32_t code = 0; code <= 65'535; ++code) {
                const auto wanted = expected(port, direction, static_cast<Code>(code));
                REQUIRE(classify(port, direction, static_cast<Code>(code)) == wanted.verdict);
                REQUIRE(message_name(port, direction, static_cast<Code>(code)) == wanted.name);
            }
        }
    }
}

TEST_CASE("W-5, fault 40: a frame is visited exactly where the matrix knows its code") {
    const auto check = []<Port At, Direction From>() {
        for (std::uint32_t number = 0; number <= 65'535; ++number) {
            const auto code = static_cast<Code>(number);
            bool visited = false;
            const auto done = visit_frame<At, From>(ByteOrder::big, code, {}, [&](const auto&) { visited = true; });
            REQUIRE(visited == done.has_value());
            const CodeClass verdict = expected(At, From, code).verdict;
            if (verdict == CodeClass::known) {
                if (!done) REQUIRE(done.error() == WireError::truncated);  // most payloads are not empty
            } else {
                REQUIRE_FALSE(done);
                REQUIRE(to_string(done.error()) ==
                        (verdict == CodeClass::wrong_direction ? "wrong_direction" : "unknown_code"));
            }
        }
    };
    check.operator()<Port::servers, Direction::in>();
    check.operator()<Port::servers, Direction::out>();
    check.operator()<Port::matchmakers, Direction::in>();
    check.operator()<Port::matchmakers, Direction::out>();
    check.operator()<Port::players, Direction::in>();
    check.operator()<Port::players, Direction::out>();
}

TEST_CASE("W-3: the server and matchmaker ports are little-endian, the player port is big-endian") {
    CHECK(default_byte_order(Port::servers) == ByteOrder::little);
    CHECK(default_byte_order(Port::matchmakers) == ByteOrder::little);
    CHECK(default_byte_order(Port::players) == ByteOrder::big);
}

TEST_CASE("fault 40: codes 1000 to 4095 are the game's own, and their neighbours are not") {
    CHECK_FALSE(is_game_code(999));
    CHECK(is_game_code(1000));
    CHECK(is_game_code(4095));
    CHECK_FALSE(is_game_code(4096));
}

TEST_CASE("W-4: every message has a sentence for the reference") {
    for_each_message([]<class M>() {
        CAPTURE(M::name);
        CHECK(M::about.size() > 4);
        CHECK(M::about.back() == '.');
        CHECK(M::about.find('|') == std::string_view::npos);  // it stands in a table
    });
}

TEST_CASE("W-5: each kind of fault is told by its name") {
    std::string names;
    for (const WireError kind : wire_errors) names += std::string(to_string(kind)) + " ";
    CHECK(names ==
          "bad_length too_large truncated trailing_bytes string_too_long invalid_utf8 bad_value unknown_code "
          "wrong_direction before_handshake second_handshake ");
    CHECK(malformed_text(WireError::bad_value) == "Malformed message: bad_value");
}

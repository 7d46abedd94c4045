#include "protocol/refusal_answer.h"

#include <algorithm>
#include <optional>
#include <string>

#include <doctest/doctest.h>

#include "protocol/dispatch.h"
#include "protocol/frame_reader.h"
#include "protocol/json_view.h"
#include "protocol/sample_frames.h"

using namespace muster;

namespace {

template <Message M>
Bytes payload_of(const M& message) {
    Bytes frame;
    encode(message, default_byte_order(M::port), frame);
    frame.erase(frame.begin(), frame.begin() + frame_head_size);
    return frame;
}

// The answer in words: its name and its JSON. It must be one frame that the peer can read.
std::string in_words(Port port, ByteOrder order, const Bytes& out) {
    const FrameSplit split = next_frame(out, order, 65'535);
    REQUIRE(split.kind == FrameSplit::Kind::frame);
    REQUIRE(split.size == out.size());
    std::string words;
    const auto tell = [&]<class M>(const M& message) {
        if constexpr (Message<M>) words = std::string(M::name) + " " + to_json(message);
    };
    const auto visit = [&]<Port At>() { return visit_outbound<At>(order, split.code, split.payload, tell); };
    const auto done = port == Port::servers       ? visit.operator()<Port::servers>()
                      : port == Port::matchmakers ? visit.operator()<Port::matchmakers>()
                                                  : visit.operator()<Port::players>();
    REQUIRE(done);
    return words;
}

enum class Link { fresh, greeted };

std::string malformed(Port port, Code code, std::span<const std::byte> payload, WireError kind,
                      Link link = Link::greeted, std::optional<ByteOrder> order = {}) {
    Bytes out;
    const ByteOrder used = order.value_or(default_byte_order(port));
    malformed_answer({.port = port, .order = used, .greeted = link == Link::greeted, .code = code, .payload = payload},
                     kind, out);
    return in_words(port, used, out);
}

// The answer to M cut to `size` bytes.
template <Message M>
std::string truncated(const M& message, std::size_t size, Link link = Link::greeted) {
    const Bytes payload = payload_of(message);
    REQUIRE(size < payload.size());
    return malformed(M::port, M::code, std::span(payload).first(size), WireError::truncated, link);
}

constexpr ServerId server{42};
constexpr LobbyId lobby{12'345};
constexpr AccountId account{7};

}  // namespace

TEST_CASE("W-6: a malformed handshake or heartbeat of a server gets the failure form of its answer") {
    for (const Link link : {Link::fresh, Link::greeted}) {
        CHECK(malformed(Port::servers, 0x1000, {}, WireError::truncated, link) ==
              R"(NET_CHAT_SV_HANDSHAKE_RESPONSE {"success":false,"error":"Malformed message: truncated"})");
        CHECK(malformed(Port::servers, 0x1002, {}, WireError::trailing_bytes, link) ==
              R"(NET_CHAT_SV_HEARTBEAT_ACK {"success":false,"error":"Malformed message: trailing_bytes"})");
    }
}

TEST_CASE("W-6: a malformed READY_FOR_MATCH is answered with its lobby where that could be read") {
    const ReadyForMatch ready{server, lobby, "T"};
    const std::string with_lobby =
        R"(NET_CHAT_SV_READY_FOR_MATCH_RESPONSE {"success":false,"lobby_id":12345,"error":"Malformed message: truncated"})";
    const std::string without = R"(NET_CHAT_SV_ERROR {"code":4102,"error":"Malformed message: truncated"})";
    for (std::size_t size = 0; size < 11; ++size) CHECK(truncated(ready, size) == (size < 8 ? without : with_lobby));
    Bytes not_text = payload_of(ready);
    not_text.back() = std::byte{0xFF};
    CHECK(
        malformed(Port::servers, 0x1006, not_text, WireError::invalid_utf8) ==
        R"(NET_CHAT_SV_READY_FOR_MATCH_RESPONSE {"success":false,"lobby_id":12345,"error":"Malformed message: invalid_utf8"})");
}

TEST_CASE("W-6: a malformed VALIDATE_TOKEN is answered with its lobby and account where both could be read") {
    const ValidateToken validate{server, lobby, account, "T"};
    const std::string with_ids =
        R"(NET_CHAT_SV_VALIDATE_TOKEN_RESPONSE {"success":false,"lobby_id":12345,"account_id":7,"error":"Malformed message: truncated"})";
    const std::string without = R"(NET_CHAT_SV_ERROR {"code":4104,"error":"Malformed message: truncated"})";
    for (std::size_t size = 0; size < 15; ++size) CHECK(truncated(validate, size) == (size < 12 ? without : with_ids));
}

TEST_CASE("W-6: a malformed STARTED or ENDED is answered with its lobby where that could be read") {
    Bytes payload = payload_of(MatchStartedReport{server, lobby});
    payload.push_back(std::byte{0});
    for (const Code code : {Code{0x100A}, Code{0x100B}}) {
        CHECK(
            malformed(Port::servers, code, payload, WireError::trailing_bytes) ==
            R"(NET_CHAT_SV_MATCH_RESPONSE {"success":false,"lobby_id":12345,"error":"Malformed message: trailing_bytes"})");
    }
    CHECK(truncated(MatchStartedReport{server, lobby}, 7) ==
          R"(NET_CHAT_SV_ERROR {"code":4106,"error":"Malformed message: truncated"})");
    CHECK(truncated(MatchEndedReport{server, lobby}, 0) ==
          R"(NET_CHAT_SV_ERROR {"code":4107,"error":"Malformed message: truncated"})");
}

TEST_CASE("W-6: what has no failure form is answered with the port's ERROR and its code") {
    CHECK(truncated(AllocateMatchAck{true, lobby}, 4) ==
          R"(NET_CHAT_SV_ERROR {"code":4101,"error":"Malformed message: truncated"})");
    CHECK(malformed(Port::servers, 0x100E, payload_of(SetDraining{server, true}), WireError::bad_value) ==
          R"(NET_CHAT_SV_ERROR {"code":4110,"error":"Malformed message: bad_value"})");
    CHECK(truncated(ServerGoodbye{server}, 3) ==
          R"(NET_CHAT_SV_ERROR {"code":4112,"error":"Malformed message: truncated"})");
    CHECK(malformed(Port::matchmakers, 0x2004, Bytes(1), WireError::trailing_bytes) ==
          R"(NET_CHAT_MGR_ERROR {"code":8196,"error":"Malformed message: trailing_bytes"})");
    CHECK(truncated(CancelMatch{lobby}, 3) ==
          R"(NET_CHAT_MGR_ERROR {"code":8199,"error":"Malformed message: truncated"})");
}

TEST_CASE("W-6: a malformed message of a matchmaker is answered with its lobby where that could be read") {
    CHECK(malformed(Port::matchmakers, 0x2000, {}, WireError::string_too_long, Link::fresh) ==
          R"(NET_CHAT_MGR_HANDSHAKE_RESPONSE {"success":false,"error":"Malformed message: string_too_long"})");
    const AllocationRequest request{lobby, 6, 0, RegionId{0}, 10, 1650};
    for (std::size_t size = 0; size < 12; ++size) {
        CHECK(
            truncated(request, size) ==
            (size < 4
                 ? R"(NET_CHAT_MGR_ERROR {"code":8194,"error":"Malformed message: truncated"})"
                 : R"(NET_CHAT_MGR_SERVER_ALLOCATION_RESPONSE {"success":false,"lobby_id":12345,"error":"Malformed message: truncated"})"));
    }
    Bytes players = payload_of(MatchPlayers{lobby, {{account}}});
    players[4] = std::byte{0x80};
    CHECK(
        malformed(Port::matchmakers, 0x2008, players, WireError::bad_value) ==
        R"(NET_CHAT_MGR_MATCH_PLAYERS_RESPONSE {"success":false,"lobby_id":12345,"error":"Malformed message: bad_value"})");
    CHECK(truncated(MatchPlayers{lobby, {{account}}}, 3) ==
          R"(NET_CHAT_MGR_ERROR {"code":8200,"error":"Malformed message: truncated"})");
}

TEST_CASE("W-6: a code that is not known, or not from this side, is answered with the port's ERROR") {
    CHECK(malformed(Port::servers, 0x9999, Bytes(64), WireError::unknown_code) ==
          R"(NET_CHAT_SV_ERROR {"code":39321,"error":"Malformed message: unknown_code"})");
    CHECK(malformed(Port::servers, 0x1007, Bytes(64), WireError::wrong_direction) ==
          R"(NET_CHAT_SV_ERROR {"code":4103,"error":"Malformed message: wrong_direction"})");
    CHECK(malformed(Port::matchmakers, 0x1002, Bytes(64), WireError::unknown_code) ==
          R"(NET_CHAT_MGR_ERROR {"code":4098,"error":"Malformed message: unknown_code"})");
    CHECK(malformed(Port::matchmakers, 0x2003, Bytes(64), WireError::wrong_direction) ==
          R"(NET_CHAT_MGR_ERROR {"code":8195,"error":"Malformed message: wrong_direction"})");
    CHECK(malformed(Port::players, 21, Bytes(2), WireError::wrong_direction) ==
          R"(MSG_SERVER_CLOSE {"reason":"Malformed message: wrong_direction"})");
}

TEST_CASE("W-6, fault 24: a length that is refused has no code, and the ERROR says 0") {
    CHECK(malformed(Port::servers, 0, {}, WireError::bad_length) ==
          R"(NET_CHAT_SV_ERROR {"code":0,"error":"Malformed message: bad_length"})");
    CHECK(malformed(Port::matchmakers, 0, {}, WireError::too_large, Link::fresh) ==
          R"(NET_CHAT_MGR_ERROR {"code":0,"error":"Malformed message: too_large"})");
    CHECK(malformed(Port::players, 0, {}, WireError::too_large) ==
          R"(MSG_SERVER_CLOSE {"reason":"Malformed message: too_large"})");
    CHECK(malformed(Port::players, 0, {}, WireError::too_large, Link::fresh) ==
          R"(MSG_LOGIN {"success":false,"error":"Malformed message: too_large"})");
}

TEST_CASE("W-6: a player's malformed frame closes, before a login as a failed login") {
    for (const Code code : {Code{6}, Code{9}, Code{117}, Code{200}, Code{201}, Code{204}, Code{999}}) {
        CHECK(malformed(Port::players, code, Bytes(3), WireError::trailing_bytes, Link::greeted) ==
              R"(MSG_SERVER_CLOSE {"reason":"Malformed message: trailing_bytes"})");
        CHECK(malformed(Port::players, code, Bytes(3), WireError::trailing_bytes, Link::fresh) ==
              R"(MSG_LOGIN {"success":false,"error":"Malformed message: trailing_bytes"})");
    }
    for (const Link link : {Link::fresh, Link::greeted}) {
        CHECK(malformed(Port::players, 10, Bytes(3), WireError::truncated, link) ==
              R"(MSG_LOGIN {"success":false,"error":"Malformed message: truncated"})");
    }
}

TEST_CASE("W-6, fault 41: a message before the handshake is told that nobody is registered") {
    CHECK(malformed(Port::servers, 0x1002, payload_of(ServerHeartbeat{}), WireError::before_handshake, Link::fresh) ==
          R"(NET_CHAT_SV_HEARTBEAT_ACK {"success":false,"error":"Server not registered"})");
    CHECK(malformed(Port::servers, 0x1006, payload_of(ReadyForMatch{server, lobby, "T"}), WireError::before_handshake,
                    Link::fresh) ==
          R"(NET_CHAT_SV_READY_FOR_MATCH_RESPONSE {"success":false,"lobby_id":12345,"error":"Server not registered"})");
    CHECK(malformed(Port::servers, 0x1010, payload_of(ServerGoodbye{server}), WireError::before_handshake,
                    Link::fresh) == R"(NET_CHAT_SV_ERROR {"code":4112,"error":"Server not registered"})");
    CHECK(
        malformed(Port::matchmakers, 0x2002, payload_of(AllocationRequest{.lobby = lobby}), WireError::before_handshake,
                  Link::fresh) ==
        R"(NET_CHAT_MGR_SERVER_ALLOCATION_RESPONSE {"success":false,"lobby_id":12345,"error":"Chat Server not registered"})");
    CHECK(malformed(Port::matchmakers, 0x2004, {}, WireError::before_handshake, Link::fresh) ==
          R"(NET_CHAT_MGR_ERROR {"code":8196,"error":"Chat Server not registered"})");
    for (const Code code : {Code{6}, Code{9}, Code{117}, Code{1000}}) {
        CHECK(malformed(Port::players, code, {}, WireError::before_handshake, Link::fresh) ==
              R"(MSG_LOGIN {"success":false,"error":"Not logged in"})");
    }
}

TEST_CASE("W-6, fault 41: a second handshake is told that there was a first") {
    CHECK(malformed(Port::servers, 0x1000, payload_of(ServerHandshake{}), WireError::second_handshake) ==
          R"(NET_CHAT_SV_HANDSHAKE_RESPONSE {"success":false,"error":"Server already registered"})");
    CHECK(malformed(Port::matchmakers, 0x2000, payload_of(MatchmakerHandshake{}), WireError::second_handshake) ==
          R"(NET_CHAT_MGR_HANDSHAKE_RESPONSE {"success":false,"error":"Chat Server already registered"})");
    CHECK(malformed(Port::players, 10, payload_of(PlayerLogin{}), WireError::second_handshake) ==
          R"(MSG_LOGIN {"success":false,"error":"Already logged in"})");
}

TEST_CASE("W-3, W-6: ids are read and answered in the link's own byte order") {
    Bytes frame;
    encode(ReadyForMatch{server, lobby, "T"}, ByteOrder::big, frame);
    const auto payload = std::span<const std::byte>(frame).subspan(frame_head_size);
    CHECK(
        malformed(Port::servers, 0x1006, payload.first(9), WireError::truncated, Link::greeted, ByteOrder::big) ==
        R"(NET_CHAT_SV_READY_FOR_MATCH_RESPONSE {"success":false,"lobby_id":12345,"error":"Malformed message: truncated"})");
}

TEST_CASE("X-3: any request can be refused with words of our choice") {
    Bytes out;
    const Bytes payload = payload_of(AllocationRequest{.lobby = lobby});
    refusal_answer(
        {.port = Port::matchmakers, .order = ByteOrder::little, .greeted = true, .code = 0x2002, .payload = payload},
        text(Refusal::server_shutting_down), out);
    CHECK(
        in_words(Port::matchmakers, ByteOrder::little, out) ==
        R"(NET_CHAT_MGR_SERVER_ALLOCATION_RESPONSE {"success":false,"lobby_id":12345,"error":"Server shutting down"})");
}

TEST_CASE("W-6: every truncation of every message, every code and every kind has an answer that the peer can read") {
    constexpr std::size_t size_max = 40;  // all ids lie before it
    for (const SampleFrame& sample : sample_frames()) {
        CAPTURE(sample.name);
        for (std::size_t size = 0; size < std::min(sample.payload().size(), size_max); ++size) {
            for (const Link link : {Link::fresh, Link::greeted}) {
                const auto part = sample.payload().first(size);
                malformed(sample.port, sample.code, part, WireError::truncated, link, sample.order);
            }
        }
    }
    for (const Port port : ports) {
        for (std::uint32_t code = 0; code < 0x2100; ++code) {
            const WireError kind = wire_errors[code % wire_errors.size()];
            CHECK_FALSE(malformed(port, static_cast<Code>(code), Bytes(code % 32), kind).empty());
        }
    }
}

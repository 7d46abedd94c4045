// The bytes of every message, written out by hand from the specification. A message without its bytes here does not
// compile.
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "protocol/codec.h"
#include "protocol/frame_example.h"
#include "protocol/messages.h"

using namespace muster;

namespace {

using Bytes = std::vector<std::byte>;

// "00 15 'text'": bytes in hexadecimal, text between quotes.
Bytes bytes(std::string_view written) {
    Bytes out;
    const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'A' + 10; };
    for (std::size_t i = 0; i < written.size(); ++i) {
        if (written[i] == ' ') continue;
        if (written[i] == '\'') {
            while (written[++i] != '\'') out.push_back(static_cast<std::byte>(written[i]));
            continue;
        }
        out.push_back(static_cast<std::byte>(digit(written[i]) * 16 + digit(written[i + 1])));
        ++i;
    }
    return out;
}

template <Message M>
struct Golden {
    M message;
    std::string_view frame;  // in the default byte order of its port
};

template <Message M>
std::vector<Golden<M>> golden() = delete;

constexpr UnixMs time{1'705'123'456'789};  // 0x018D01472715
constexpr ServerId server{42};
constexpr LobbyId lobby{12'345};  // 0x3039
constexpr AccountId account{7};
const GameEndpoint endpoint{"10.0.0.7", 28'000};  // 0x6D60

template <>
std::vector<Golden<ServerHandshake>> golden() {
    return {{{"secret", endpoint, RegionId{2}, 20},
             "1D 00  00 10  06 00 'secret'  08 00 '10.0.0.7'  60 6D 00 00  02  14 00 00 00"}};
}

template <>
std::vector<Golden<ServerHandshakeResponse>> golden() {
    return {
        {{ServerHandshakeResponse::Accepted{server, time}}, "0F 00  01 10  01  2A 00 00 00  15 27 47 01 8D 01 00 00"},
        {{Refused{"Invalid token"}}, "12 00  01 10  00  0D 00 'Invalid token'"}};
}

template <>
std::vector<Golden<ServerHeartbeat>> golden() {
    return {{{server, 3, 45.2F, 62.8F}, "12 00  02 10  2A 00 00 00  03 00 00 00  CD CC 34 42  33 33 7B 42"}};
}

template <>
std::vector<Golden<ServerHeartbeatAck>> golden() {
    return {{{ServerHeartbeatAck::Accepted{time}}, "0B 00  03 10  01  15 27 47 01 8D 01 00 00"},
            {{Refused{"Server not registered"}}, "1A 00  03 10  00  15 00 'Server not registered'"}};
}

template <>
std::vector<Golden<AllocateMatch>> golden() {
    return {{{lobby, 6, 0, "MATCH_12345_x"}, "17 00  04 10  39 30 00 00  06  00  0D 00 'MATCH_12345_x'"}};
}

template <>
std::vector<Golden<AllocateMatchAck>> golden() {
    return {{{true, lobby}, "07 00  05 10  01  39 30 00 00"}, {{false, LobbyId{-1}}, "07 00  05 10  00  FF FF FF FF"}};
}

template <>
std::vector<Golden<ReadyForMatch>> golden() {
    return {{{server, lobby, "T"}, "0D 00  06 10  2A 00 00 00  39 30 00 00  01 00 'T'"}};
}

template <>
std::vector<Golden<ReadyForMatchResponse>> golden() {
    return {{{LobbyAccepted{lobby}}, "07 00  07 10  01  39 30 00 00"},
            {{LobbyRefused{lobby, "Match not found"}}, "18 00  07 10  00  39 30 00 00  0F 00 'Match not found'"}};
}

template <>
std::vector<Golden<ValidateToken>> golden() {
    return {{{server, lobby, account, "T"}, "11 00  08 10  2A 00 00 00  39 30 00 00  07 00 00 00  01 00 'T'"}};
}

template <>
std::vector<Golden<ValidateTokenResponse>> golden() {
    return {{{ValidateTokenResponse::Accepted{lobby, account}}, "0B 00  09 10  01  39 30 00 00  07 00 00 00"},
            {{ValidateTokenResponse::Refused{lobby, account, "Match token expired"}},
             "20 00  09 10  00  39 30 00 00  07 00 00 00  13 00 'Match token expired'"}};
}

template <>
std::vector<Golden<MatchStartedReport>> golden() {
    return {{{server, lobby}, "0A 00  0A 10  2A 00 00 00  39 30 00 00"}};
}

template <>
std::vector<Golden<MatchEndedReport>> golden() {
    return {{{server, lobby}, "0A 00  0B 10  2A 00 00 00  39 30 00 00"}};
}

template <>
std::vector<Golden<MatchResponse>> golden() {
    return {
        {{LobbyAccepted{lobby}}, "07 00  0C 10  01  39 30 00 00"},
        {{LobbyRefused{lobby, "Match already ended"}}, "1C 00  0C 10  00  39 30 00 00  13 00 'Match already ended'"}};
}

template <>
std::vector<Golden<AbortMatch>> golden() {
    return {{{lobby, "Cancelled"}, "11 00  0D 10  39 30 00 00  09 00 'Cancelled'"}};
}

template <>
std::vector<Golden<SetDraining>> golden() {
    return {{{server, true}, "07 00  0E 10  2A 00 00 00  01"}, {{server, false}, "07 00  0E 10  2A 00 00 00  00"}};
}

template <>
std::vector<Golden<ServerStatusNotice>> golden() {
    return {{{server, ServerStatus::available}, "07 00  0F 10  2A 00 00 00  00"},
            {{server, ServerStatus::full}, "07 00  0F 10  2A 00 00 00  01"},
            {{server, ServerStatus::draining}, "07 00  0F 10  2A 00 00 00  02"},
            {{server, ServerStatus::offline}, "07 00  0F 10  2A 00 00 00  03"}};
}

template <>
std::vector<Golden<ServerGoodbye>> golden() {
    return {{{server}, "06 00  10 10  2A 00 00 00"}};
}

template <>
std::vector<Golden<ServerError>> golden() {
    return {
        {{0x9999, "Malformed message: unknown_code"}, "25 00  11 10  99 99  1F 00 'Malformed message: unknown_code'"}};
}

template <>
std::vector<Golden<ServerCrashed>> golden() {
    return {{{server}, "06 00  12 10  2A 00 00 00"}};
}

template <>
std::vector<Golden<HostHello>> golden() {
    return {{{"secret", "eu-1", "10.0.0.7", RegionId{2}, "1.2"},
             "20 00  20 10  06 00 'secret'  04 00 'eu-1'  08 00 '10.0.0.7'  02  03 00 '1.2'"}};
}

template <>
std::vector<Golden<HostWelcome>> golden() {
    return {{{HostWelcome::Accepted{time}}, "0B 00  21 10  01  15 27 47 01 8D 01 00 00"},
            {{Refused{"Too many hosts"}}, "13 00  21 10  00  0E 00 'Too many hosts'"}};
}

template <>
std::vector<Golden<HostReport>> golden() {
    return {{{45.2F, 62.8F, true}, "0B 00  22 10  CD CC 34 42  33 33 7B 42  01"}};
}

template <>
std::vector<Golden<ProcessReport>> golden() {
    return {{{ReportedNews::exited, "a-1", "a", ProcessState::backoff, 77, 7001, server, true, time, 3, time, -1, 9,
              "signal 9 (SIGKILL)", "bye"},
             "4E 00  23 10  03  03 00 'a-1'  01 00 'a'  05  4D 00 00 00  59 1B 00 00  2A 00 00 00  01"
             "15 27 47 01 8D 01 00 00  03 00 00 00  15 27 47 01 8D 01 00 00  FF FF FF FF  09 00 00 00"
             "12 00 'signal 9 (SIGKILL)'  03 00 'bye'"}};
}

template <>
std::vector<Golden<ProcessGone>> golden() {
    return {{{"a-1"}, "07 00  24 10  03 00 'a-1'"}};
}

template <>
std::vector<Golden<HostAnswer>> golden() {
    return {{{7, true, ""}, "09 00  25 10  07 00 00 00  01  00 00"},
            {{7, false, "no"}, "0B 00  25 10  07 00 00 00  00  02 00 'no'"}};
}

template <>
std::vector<Golden<HostLogPart>> golden() {
    return {{{7, 4096, true, "hi"}, "13 00  26 10  07 00 00 00  00 10 00 00 00 00 00 00  01  02 00 'hi'"}};
}

template <>
std::vector<Golden<HostGoodbye>> golden() {
    return {{{}, "02 00  27 10"}};
}

template <>
std::vector<Golden<ProcessDraining>> golden() {
    return {{{"a-1", true}, "08 00  28 10  03 00 'a-1'  01"}};
}

template <>
std::vector<Golden<ProcessMatches>> golden() {
    return {{{"a-1", server, 3}, "0F 00  29 10  03 00 'a-1'  2A 00 00 00  03 00 00 00"}};
}

template <>
std::vector<Golden<HostReportAck>> golden() {
    return {{{time}, "0A 00  2A 10  15 27 47 01 8D 01 00 00"}};
}

template <>
std::vector<Golden<DrainHost>> golden() {
    return {{{7, true}, "07 00  30 10  07 00 00 00  01"}};
}

template <>
std::vector<Golden<RestartProcess>> golden() {
    return {{{7, "a-1"}, "0B 00  31 10  07 00 00 00  03 00 'a-1'"}};
}

template <>
std::vector<Golden<ScaleRun>> golden() {
    return {{{7, "a", 4}, "0D 00  32 10  07 00 00 00  01 00 'a'  04 00 00 00"}};
}

template <>
std::vector<Golden<ReadLog>> golden() {
    return {{{7, "a-1", -1, 4096}, "17 00  33 10  07 00 00 00  03 00 'a-1'  FF FF FF FF FF FF FF FF  00 10 00 00"}};
}

template <>
std::vector<Golden<HostMatchPlayers>> golden() {
    return {{{server, lobby, {{account, AccountId{8}}}},
             "13 00  34 10  2A 00 00 00  39 30 00 00  02  07 00 00 00  08 00 00 00"}};
}

template <>
std::vector<Golden<MatchmakerHandshake>> golden() {
    return {{{"secret", "chat-1", {{RegionId{0}, RegionId{2}, RegionId{15}}}},
             "16 00  00 20  06 00 'secret'  06 00 'chat-1'  03  00 02 0F"}};
}

template <>
std::vector<Golden<MatchmakerHandshakeResponse>> golden() {
    return {
        {{MatchmakerHandshakeResponse::Accepted{time, {{AvailableServer{server, endpoint, RegionId{2}, 20}}}}},
         "26 00  01 20  01  15 27 47 01 8D 01 00 00  01 00 00 00"
         "2A 00 00 00  08 00 '10.0.0.7'  60 6D 00 00  02  14 00 00 00"},
        {{MatchmakerHandshakeResponse::Accepted{time, {}}}, "0F 00  01 20  01  15 27 47 01 8D 01 00 00  00 00 00 00"},
        {{Refused{"Invalid Chat Server ID"}}, "1B 00  01 20  00  16 00 'Invalid Chat Server ID'"}};
}

template <>
std::vector<Golden<AllocationRequest>> golden() {
    return {{{lobby, 6, 0, RegionId{0}, 10, 1650}, "0E 00  02 20  39 30 00 00  06  00  00  0A  72 06 00 00"}};
}

template <>
std::vector<Golden<AllocationResponse>> golden() {
    return {
        {{AllocationResponse::Accepted{lobby, server, endpoint, "T", time}},
         "24 00  03 20  01  39 30 00 00  2A 00 00 00  08 00 '10.0.0.7'  60 6D 00 00  01 00 'T'"
         "15 27 47 01 8D 01 00 00"},
        {{LobbyRefused{lobby, "No servers available"}}, "1D 00  03 20  00  39 30 00 00  14 00 'No servers available'"}};
}

template <>
std::vector<Golden<MatchmakerHeartbeat>> golden() {
    return {{{}, "02 00  04 20"}};
}

template <>
std::vector<Golden<MatchmakerHeartbeatAck>> golden() {
    return {{{.time = time}, "0B 00  05 20  01  15 27 47 01 8D 01 00 00"}};
}

template <>
std::vector<Golden<MatchEventNotice>> golden() {
    return {{{lobby, MatchEventKind::ready, ""}, "09 00  06 20  39 30 00 00  01  00 00"},
            {{lobby, MatchEventKind::started, ""}, "09 00  06 20  39 30 00 00  02  00 00"},
            {{lobby, MatchEventKind::ended, ""}, "09 00  06 20  39 30 00 00  03  00 00"},
            {{lobby, MatchEventKind::aborted, "Cancelled"}, "12 00  06 20  39 30 00 00  04  09 00 'Cancelled'"}};
}

template <>
std::vector<Golden<CancelMatch>> golden() {
    return {{{lobby}, "06 00  07 20  39 30 00 00"}};
}

template <>
std::vector<Golden<MatchPlayers>> golden() {
    return {{{lobby, {{account, AccountId{-1}}}}, "0F 00  08 20  39 30 00 00  02  07 00 00 00  FF FF FF FF"},
            {{lobby, {}}, "07 00  08 20  39 30 00 00  00"}};
}

template <>
std::vector<Golden<MatchPlayersResponse>> golden() {
    return {{{LobbyAccepted{lobby}}, "07 00  09 20  01  39 30 00 00"},
            {{LobbyRefused{lobby, "Store unavailable"}}, "1A 00  09 20  00  39 30 00 00  11 00 'Store unavailable'"}};
}

template <>
std::vector<Golden<MatchmakerError>> golden() {
    return {{{0x2007, "Chat Server not registered"}, "20 00  0A 20  07 20  1A 00 'Chat Server not registered'"}};
}

template <>
std::vector<Golden<PlayerLogout>> golden() {
    return {{{}, "00 02  00 06"}};
}

template <>
std::vector<Golden<PingEcho>> golden() {
    return {{{}, "00 02  00 09"}};
}

template <>
std::vector<Golden<Ping>> golden() {
    return {{{}, "00 02  00 09"}};
}

template <>
std::vector<Golden<PlayerLogin>> golden() {
    return {{{"Zoë", "c", ""}, "00 0D  00 0A  00 04 'Zo' C3 AB  00 01 'c'  00 00"}};
}

template <>
std::vector<Golden<PlayerLoginResponse>> golden() {
    return {{{PlayerLoginResponse::Accepted{account, "r1"}}, "00 0B  00 0A  01  00 00 00 07  00 02 'r1'"},
            {{Refused{"Already logged in"}}, "00 16  00 0A  00  00 11 'Already logged in'"}};
}

template <>
std::vector<Golden<TimeChange>> golden() {
    return {{{TimeUnit::minute, 30}, "00 04  00 15  02  1E"},
            {{TimeUnit::hour, 14}, "00 04  00 15  01  0E"},
            {{TimeUnit::day, 2}, "00 04  00 15  03  02"}};
}

template <>
std::vector<Golden<ServerClose>> golden() {
    return {{{"Ping timeout"}, "00 10  00 18  00 0C 'Ping timeout'"}};
}

template <>
std::vector<Golden<TimeUpdate>> golden() {
    return {{{3, 14, 30}, "00 05  00 4A  03 0E 1E"}};
}

template <>
std::vector<Golden<PingRequest>> golden() {
    return {{{}, "00 02  00 75"}};
}

template <>
std::vector<Golden<PingReply>> golden() {
    return {{{}, "00 02  00 75"}};
}

template <>
std::vector<Golden<EntityHeartbeatAnswer>> golden() {
    return {{{0xDEAD'BEEF, 1}, "00 07  00 C8  DE AD BE EF  01"}, {{0, 255}, "00 07  00 C8  00 00 00 00  FF"}};
}

template <>
std::vector<Golden<EntityHeartbeat>> golden() {
    return {{{0xDEAD'BEEF}, "00 06  00 C8  DE AD BE EF"}};
}

template <>
std::vector<Golden<ClockSync>> golden() {
    return {{{0x0102'0304'0506'0708}, "00 0A  00 C9  01 02 03 04 05 06 07 08"}};
}

template <>
std::vector<Golden<ClockSyncReply>> golden() {
    return {{{1, 2, -1}, "00 1A  00 C9  00 00 00 00 00 00 00 01  00 00 00 00 00 00 00 02  FF FF FF FF FF FF FF FF"}};
}

template <>
std::vector<Golden<PlayerMatchStart>> golden() {
    return {{{lobby, endpoint, "T"}, "00 17  00 CA  00 00 30 39  00 08 '10.0.0.7'  00 00 6D 60  00 01 'T'"}};
}

template <>
std::vector<Golden<PlayerMatchAborted>> golden() {
    return {{{lobby, "Cancelled"}, "00 11  00 CB  00 00 30 39  00 09 'Cancelled'"}};
}

template <>
std::vector<Golden<PlayerActivity>> golden() {
    return {{{}, "00 02  00 CC"}};
}

template <Message M>
std::string frame_text(const M& message, ByteOrder order) {
    Bytes frame;
    encode(message, order, frame);
    return hex_text(frame);
}

}  // namespace

TEST_CASE("W-1, W-2, W-4: every message has the bytes that the specification gives it, and they read back") {
    for_each_message([]<class M>() {
        CAPTURE(M::name);
        for (const Golden<M>& pair : golden<M>()) {
            const Bytes frame = bytes(pair.frame);
            CHECK(frame_text(pair.message, default_byte_order(M::port)) == hex_text(frame));
            const auto back = decode<M>(std::span(frame).subspan(4), default_byte_order(M::port));
            const bool same = back && *back == pair.message;
            CHECK(same);
        }
    });
}

TEST_CASE("W-3: the player port can be little-endian, lengths and codes included") {
    CHECK(frame_text(TimeChange{TimeUnit::minute, 30}, ByteOrder::little) == "04 00 15 00 02 1E");
    CHECK(frame_text(EntityHeartbeat{0xDEAD'BEEF}, ByteOrder::little) == "06 00 C8 00 EF BE AD DE");
    CHECK(frame_text(PlayerLogin{"Al", "c", ""}, ByteOrder::little) == "0B 00 0A 00 02 00 41 6C 01 00 63 00 00");
}

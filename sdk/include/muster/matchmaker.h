// A matchmaker's client: asks Muster for a game server for each match, and reports what happens to the match.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "muster/ids.h"
#include "muster/linked_client.h"
#include "muster/outcome.h"
#include "muster/time.h"

namespace muster::sdk {

struct MatchmakerOptions {
    std::string token{};              // Muster's matchmaker token; empty where it asks for none
    std::string matchmaker_id{};      // 1 to 64 of letters, digits, - _ . and unique among those connected
    std::vector<RegionId> regions{};  // at least one; requests are for these

    // As in Muster's config; leave it unless that was changed.
    Duration heartbeat_interval = std::chrono::seconds(30);
    // A request without an answer fails after this long.
    Duration request_timeout = std::chrono::seconds(30);
};

// What a match needs. game_type and game_mode go to the server; they and average_rating do not change the choice.
struct MatchRequest {
    LobbyId lobby{};  // positive, and new for each match
    std::int8_t game_type = 0;
    std::int8_t game_mode = 0;
    RegionId region{};
    std::int8_t player_count = 0;
    std::int32_t average_rating = 0;
};

// The answer to a request. On failure everything but lobby and outcome is empty.
struct Allocation {
    Outcome outcome{};
    LobbyId lobby{};
    ServerId server{};
    std::string ip{};  // where the players connect …
    std::uint16_t port = 0;
    std::string token{};      // … and what lets them in, for 120 s from …
    UnixTime allocated_at{};  // … this time, by Muster's clock

    explicit operator bool() const { return static_cast<bool>(outcome); }
};

enum class MatchEventKind : std::uint8_t { ready = 1, started = 2, ended = 3, aborted = 4 };

std::string_view to_string(MatchEventKind kind);

struct MatchEvent {
    LobbyId lobby{};
    MatchEventKind kind{};
    std::string reason{};
};

// A server that was available at the handshake.
struct KnownServer {
    ServerId server{};
    std::string ip{};
    std::uint16_t port = 0;
    RegionId region{};
    std::int32_t max_matches = 0;
};

// All are optional.
struct MatchmakerCallbacks {
    // What became of a match, after its request was answered; the latest also after a reconnect. `aborted` answers
    // every cancel() that went out, with the reason "Match not found" where there was nothing to withdraw.
    std::function<void(const MatchEvent&)> on_event{};
    std::function<void(LinkState)> on_link{};
    std::function<void(const Outcome&)> on_error{};
};

// Registers once connected, sends heartbeats, and reconnects after a lost connection. It then retries every request
// without an answer, which is safe: a lobby never gets two servers. See Client for how it is driven and when callbacks
// are called.
class Matchmaker final : public LinkedClient {
public:
    // Requests and lists under way at once.
    static constexpr std::size_t asks_max = 20'000;

    // Throws std::invalid_argument for an invalid option: a bad id, no region, a limit of 0.
    Matchmaker(MatchmakerOptions options, MatchmakerCallbacks callbacks);
    ~Matchmaker() override;

    // `done` is called once: with a server, with Muster's refusal, or after request_timeout with no_answer. After
    // no_answer tell the players that there is no match; the client cancels the request at Muster.
    // A lobby may have one pending request (else already_asked).
    void request(const MatchRequest& match, std::function<void(const Allocation&)> done);

    // Withdraws a request, whose callback gets `cancelled`, or a match, which is aborted on its server.
    void cancel(LobbyId lobby);

    // Only these accounts are let into the match, and those with a session at Muster are told where to go. A later list
    // replaces this one. At most 127.
    void players(LobbyId lobby, std::span<const AccountId> accounts, std::function<void(const Outcome&)> done);

    // Disconnects for good. Pending requests end with `closed`; at Muster they and their matches continue.
    void close();

    // Available servers of the regions, as of the last handshake.
    const std::vector<KnownServer>& servers() const;
    // Requests without an answer so far.
    std::size_t requests_waiting() const;

private:
    class State;
    State& state() const;
};

}  // namespace muster::sdk

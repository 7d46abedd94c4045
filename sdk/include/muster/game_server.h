// A game server's side of Muster: registers it, keeps it alive, takes matches, lets players in.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "muster/ids.h"
#include "muster/linked_client.h"
#include "muster/outcome.h"
#include "muster/time.h"

namespace muster::sdk {

struct GameServerOptions {
    std::string token{};           // Muster's server token; empty where it asks for none
    std::string ip{};              // where players reach this server: an IPv4 or IPv6 literal …
    std::uint16_t port = 0;        // … and a port from 1024 on
    RegionId region{};             // one of Muster's config
    std::int32_t max_matches = 1;  // at once, 1 to 10000

    // As in Muster's config; leave them unless that was changed.
    Duration heartbeat_interval = std::chrono::seconds(10);
    Duration heartbeat_timeout = std::chrono::seconds(30);
    Duration offer_timeout = std::chrono::seconds(5);
    // How long validate() waits for an answer, over a reconnect if need be.
    Duration validate_timeout = std::chrono::seconds(10);
    // How long goodbye() waits for Muster to answer the ends of matches, over a reconnect if need be.
    Duration goodbye_timeout = std::chrono::seconds(2);
};

// A match that Muster would like this server to run.
struct Offer {
    LobbyId lobby{};
    std::int8_t game_type = 0;  // the matchmaker's own numbers
    std::int8_t game_mode = 0;
    std::string token{};  // players of this match will come with it
};

enum class OfferAnswer : std::uint8_t {
    accept,
    decline,
    later,  // by answer() or ready(), within offer_timeout; then it counts as declined
};

// As Muster shows it.
enum class ServerStatus : std::uint8_t { available = 0, full = 1, draining = 2, offline = 3 };

// Percentages, 0 to 100. Anything else is brought into that range.
struct Load {
    float cpu_percent = 0;
    float memory_percent = 0;
    // Matches that this server runs and Muster did not give it. They count in its heartbeats, so that they take slots.
    std::int32_t own_matches = 0;
};

// All are optional but on_offer, without which every offer is declined.
struct GameServerCallbacks {
    std::function<OfferAnswer(const Offer&)> on_offer{};
    // Drop this offer or match: its slot is free. `reason` is Muster's, or what went wrong here.
    std::function<void(LobbyId, std::string_view reason)> on_abort{};
    std::function<void(LinkState)> on_link{};
    // Muster's view changed: an operator drains this server, or the answer to drain().
    std::function<void(ServerStatus)> on_status{};
    // Asked before each heartbeat. Without it report_load() counts.
    std::function<Load()> on_load{};
    // Errors that belong to no call: a refused handshake, a malformed message, an exception from a callback.
    std::function<void(const Outcome&)> on_error{};
};

// Registers once connected, sends heartbeats, and reconnects after a lost connection: reports without an answer are
// sent again, running matches continue. See Client for how it is driven and when callbacks are called.
//
// Commands take effect at once and reach Muster as soon as there is a connection. Their time is that of the last call
// with a time argument.
class GameServer final : public LinkedClient {
public:
    // Throws std::invalid_argument for an invalid option: a text that is too long, a limit of 0.
    GameServer(GameServerOptions options, GameServerCallbacks callbacks);
    ~GameServer() override;

    // Answers an offer that was left for later. False when there is no such offer any more.
    bool answer(LobbyId lobby, OfferAnswer answer);

    // The match is ready: Muster sends its players. Accepts the offer, if that was not done yet. If Muster does not
    // know the match (for example, because the acknowledgement was lost with the connection), on_abort follows.
    // False when this server does not hold the match; so do start() and end().
    bool ready(LobbyId lobby);
    // The match has begun; nobody is let in any more.
    bool start(LobbyId lobby);
    // The match is over, and its slot is free.
    bool end(LobbyId lobby);

    // Goes on with a match that an earlier process held for this server, as far as it had come: accepted, ready or
    // started. Before the first connection; Muster is told again how far it is.
    enum class MatchStage : std::uint8_t { accepted, ready, started };
    void take_over(const Offer& match, MatchStage stage);

    // A player came with a token. `done` is called once; if its outcome is true, let the player in. A valid token is
    // used up for that account. answer_lost: the connection broke before the answer, and the token is used, most likely
    // by this call.
    void validate(LobbyId lobby, AccountId account, std::string_view token, std::function<void(const Outcome&)> done);

    // True: no new matches, running ones finish. Stays in force until drain(false), also over reconnects. Without a
    // call, a drain of an earlier process at this address is lifted; an operator's is not.
    void drain(bool draining);
    // Leaves for good: Muster aborts the matches that are still here, and the link is closed. An end() that Muster has
    // not answered is waited for first, up to goodbye_timeout: a goodbye that overtakes it would make an aborted match
    // of it. From this call on the server holds no match and takes none. on_link hears `closed` when it is over.
    void goodbye();
    // The same for a process that has crashed, by whoever speaks for it: its matches are aborted with "Server crashed".
    void crashed();
    void report_load(Load load);

    // Of the registration; none before the first.
    std::optional<ServerId> id() const;
    // Every match accepted and not ended, as the heartbeats report it.
    std::int32_t match_count() const;
    bool holds(LobbyId lobby) const;

private:
    class State;
    State& state() const;
};

}  // namespace muster::sdk

// For tests: just enough of a Muster, on three loopback ports. It believes everyone, gives each match to the first
// server of the region that accepts it, and tells the matchmaker and the listed players what becomes of it. In its
// world it is always Tuesday, 14:30.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "protocol/dispatch.h"
#include "protocol/matchmaker_messages.h"
#include "protocol/player_messages.h"
#include "protocol/port.h"
#include "protocol/server_messages.h"

namespace muster::sdk {

class FakeMuster {
public:
    // Listens, and serves on a thread of its own. 0 is any free port.
    explicit FakeMuster(std::uint16_t servers_port = 0, std::uint16_t matchmakers_port = 0,
                        std::uint16_t players_port = 0);
    ~FakeMuster();
    FakeMuster(const FakeMuster&) = delete;
    FakeMuster& operator=(const FakeMuster&) = delete;

    std::uint16_t servers_port() const { return servers_port_; }
    std::uint16_t matchmakers_port() const { return matchmakers_port_; }
    std::string servers_address() const { return "127.0.0.1:" + std::to_string(servers_port_); }
    std::string matchmakers_address() const { return "127.0.0.1:" + std::to_string(matchmakers_port_); }
    std::string players_address() const { return "127.0.0.1:" + std::to_string(players_port_); }

    // Any thread. Cuts every link, once.
    void cut_links() { cut_links_ = true; }
    int handshakes() const { return handshakes_; }
    int goodbyes() const { return goodbyes_; }
    int resumes() const { return resumes_; }
    int logouts() const { return logouts_; }
    int game_messages() const { return game_messages_; }

private:
    struct Peer {
        int fd = -1;
        Port port{};
        std::vector<std::byte> unread{};
        std::int32_t server = 0;
        GameEndpoint endpoint{};
        std::int8_t region = 0;
        std::int32_t player = 0;
    };
    struct Match {
        Peer* server = nullptr;
        Peer* matchmaker = nullptr;
        std::string token{};
        std::vector<std::int32_t> players{};
    };
    struct Session {
        std::int32_t player = 0;
        std::string resume_token{};
    };

    void serve();
    void accept_on(int listener, Port port);
    bool read(Peer& peer);
    void forget(Peer& peer);

    void take(Peer& peer, const ServerHandshake& message);
    void take(Peer& peer, const ServerHeartbeat& message);
    void take(Peer& peer, const AllocateMatchAck& message);
    void take(Peer& peer, const ReadyForMatch& message);
    void take(Peer& peer, const ValidateToken& message);
    void take(Peer& peer, const MatchStartedReport& message);
    void take(Peer& peer, const MatchEndedReport& message);
    void take(Peer& peer, const SetDraining& message);
    void take(Peer& peer, const ServerGoodbye& message);
    void take(Peer& peer, const ServerCrashed& message);
    void take(Peer&, const HostMessage auto&) {}
    void take(Peer& peer, const MatchmakerHandshake& message);
    void take(Peer& peer, const AllocationRequest& message);
    void take(Peer& peer, const MatchmakerHeartbeat& message);
    void take(Peer& peer, const CancelMatch& message);
    void take(Peer& peer, const MatchPlayers& message);
    void take(Peer& peer, const PlayerLogin& message);
    void take(Peer& peer, const PlayerLogout& message);
    void take(Peer& peer, const PingEcho& message);
    void take(Peer& peer, const PingRequest& message);
    void take(Peer& peer, const ClockSync& message);
    void take(Peer& peer, const EntityHeartbeatAnswer& message);
    void take(Peer& peer, const PlayerActivity& message);
    void take(Peer& peer, const GameMessage& message);

    template <Message M>
    static void say(const Peer* peer, const M& message);
    void tell_matchmaker(muster::LobbyId lobby, MatchEventKind kind, std::string_view reason = "");
    template <Message M>
    void tell_players(const Match& match, const M& message);

    std::array<int, ports.size()> listeners_;  // in the order of the ports
    std::uint16_t servers_port_ = 0;
    std::uint16_t matchmakers_port_ = 0;
    std::uint16_t players_port_ = 0;
    std::atomic<bool> stopping_{false};
    std::atomic<bool> cut_links_{false};
    std::atomic<int> handshakes_{0};
    std::atomic<int> goodbyes_{0};
    std::atomic<int> resumes_{0};
    std::atomic<int> logouts_{0};
    std::atomic<int> game_messages_{0};

    // Its thread only.
    std::vector<std::unique_ptr<Peer>> peers_;
    std::map<std::int32_t, Match> matches_;
    std::map<std::pair<std::string, std::int32_t>, std::int32_t>
        ids_;                                  // by ip and port: the same server has the same id
    std::map<std::string, Session> sessions_;  // by name
    std::thread thread_;
};

}  // namespace muster::sdk

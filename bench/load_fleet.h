// A fleet that plays its part to the end: game servers that heartbeat, acknowledge, play and end matches, and
// matchmaker servers that ask for them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <queue>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "peer_links.h"

namespace muster::bench {

struct LoadOptions {
    std::size_t servers = 1'000;
    std::size_t matchmakers = 20;
    std::size_t allocations = 50'000;
    std::chrono::milliseconds ack_max{4'000};  // an offer is acknowledged after 0 to this
    std::chrono::milliseconds match{1'000};    // from the start to the end; negative: until all were answered
    double per_second = 1'000;                 // requests; each is due at its moment, whatever became of those before
    std::int32_t max_matches = 10;
    std::uint64_t seed = 1;
    std::shared_ptr<const TlsClientContext> server_tls;      // null: plain bytes
    std::shared_ptr<const TlsClientContext> matchmaker_tls;  // the same
    bool resumes = false;                                    // links come back by their tickets
};

// What the peers saw.
struct LoadFigures {
    std::vector<double> answer_seconds;   // of successes, from when the request was due
    std::vector<double> refusal_seconds;  // of failures
    std::map<std::string, std::uint64_t> failures;
    std::uint64_t asked = 0;
    std::uint64_t answered = 0;
    std::uint64_t succeeded = 0;
    std::uint64_t ended = 0;       // matches played to their end, as the matchmakers were told
    std::uint64_t aborted = 0;     // as the matchmakers were told
    std::uint64_t retries = 0;     // offers beyond a request's first
    std::uint64_t overfilled = 0;  // offers beyond a server's capacity
    std::uint64_t misplaced = 0;   // answers that name a server which did not acknowledge that match
    std::uint64_t refused = 0;     // heartbeats, readies, starts and ends that were refused
    std::uint64_t lost_links = 0;
    std::uint64_t changed_ids = 0;            // servers that came back as another: they had been removed
    std::vector<std::uint32_t> per_server;    // successes
    std::chrono::duration<double> asking{0};  // from the first request to the last answer
    std::chrono::duration<double> took{0};
};

// One thread. Throws std::runtime_error when the other side falls silent.
class LoadFleet final : private PeerEvents {
public:
    struct Ports {
        std::uint16_t servers = 0;
        std::uint16_t matchmakers = 0;
    };

    explicit LoadFleet(const LoadOptions& options);

    // Connects whoever is not connected, all at once, and waits until all are registered. Who is turned away comes
    // again after a moment. Returns how long it took.
    std::chrono::duration<double> register_all(Ports ports);

    // Cuts every link.
    void cut_all();

    // Every game server's heartbeat must be acknowledged. Throws std::runtime_error otherwise.
    void heartbeat_all();

    // Asks for all matches, and plays them to their end. `progress` is called several times a second.
    void allocate(const std::function<void(const LoadFigures&)>& progress);

    const LoadFigures& figures() const { return figures_; }
    std::size_t resumed() const { return links_.resumed(); }

private:
    using Moment = std::chrono::steady_clock::time_point;

    struct GameServer {
        ServerId id;
        bool registered = false;
        std::unordered_map<std::int32_t, std::string> held;  // token by lobby: offered, acknowledged or running
        std::uint64_t acknowledged_beats = 0;
    };
    struct Matchmaker {
        bool registered = false;
    };
    struct Lobby {
        Moment due;
        std::uint32_t server = no_server;  // that acknowledged it
        std::uint8_t offers = 0;
        bool answered = false;
        bool over = false;
    };
    enum class Deed : std::uint8_t { connect, heartbeat, matchmaker_heartbeat, acknowledge, end };
    struct Planned {
        Moment when;
        Deed deed;
        std::uint32_t who;
        std::int32_t lobby;
        bool operator>(const Planned& other) const { return when > other.when; }
    };
    static constexpr std::uint32_t no_server = 0xFFFF'FFFF;

    void opened(std::size_t link) override;
    void frame(std::size_t link, Code code, std::span<const std::byte> payload) override;
    void closed(std::size_t link) override;

    void server_frame(std::uint32_t index, Code code, std::span<const std::byte> payload);
    void matchmaker_frame(std::uint32_t index, Code code, std::span<const std::byte> payload);
    void offered(std::uint32_t index, std::span<const std::byte> payload);
    void answered(std::span<const std::byte> payload);
    void match_event(std::span<const std::byte> payload);
    void registered(bool& flag);

    void turn(Moment until);
    void do_planned(const Planned& planned);
    void acknowledge(std::uint32_t index, std::int32_t lobby);
    void started(std::uint32_t index, std::int32_t lobby);
    void end(std::uint32_t index, std::int32_t lobby);
    void heartbeat(std::uint32_t index);
    void ask();
    void plan(std::chrono::nanoseconds in, Deed deed, std::uint32_t who, std::int32_t lobby = 0);
    std::chrono::nanoseconds some_of(std::chrono::nanoseconds most);
    std::size_t link_of_matchmaker(std::size_t matchmaker) const { return servers_.size() + matchmaker; }
    Lobby& lobby(std::int32_t id) { return lobbies_.at(static_cast<std::size_t>(id) - 1); }

    const LoadOptions options_;
    Ports ports_;
    std::mt19937_64 random_;
    Moment now_;
    std::vector<GameServer> servers_;
    std::vector<Matchmaker> matchmakers_;
    std::vector<Lobby> lobbies_;
    std::vector<std::pair<std::uint32_t, std::int32_t>> kept_;  // started matches that wait for the last request
    std::priority_queue<Planned, std::vector<Planned>, std::greater<>> plans_;
    std::size_t missing_ = 0;  // peers that are not registered
    LoadFigures figures_;
    PeerLinks links_;
};

}  // namespace muster::bench

// All honest peers of the three game ports, on one thread.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include "honest_matchmaker.h"
#include "honest_player.h"
#include "honest_server.h"
#include "stage.h"

namespace muster::storm {

struct CrowdSize {
    std::size_t servers = 40;
    std::size_t matchmakers = 4;
    std::size_t players = 120;
    double allocations_per_second = 60;
    bool unread_deaths = true;  // matchmakers die with unread news now and then
};

// One thread.
class Crowd final : private bench::PeerEvents {
public:
    // What the peers see goes to the judge. `weather` is read and, when this thread itself was kept from running,
    // written.
    Crowd(const CrowdSize& size, Weather& weather, Judge& judge, std::uint64_t seed);
    Crowd(const Crowd&) = delete;
    Crowd& operator=(const Crowd&) = delete;

    // Where the daemon is; ports of 0 while it is away.
    void aim(const Ports& ports);
    // Some game servers lose their links, and come back in the next life of the daemon: each hears then that a match of
    // its own was cancelled meanwhile.
    void strand_some();
    // Sends, hears, and does what is planned, until something happens or `wait` is over.
    void turn(Span wait);

    // All peers are registered and logged in.
    bool complete() const;
    // No new lobbies any more; open() falls to none.
    void rest();
    std::size_t open() const { return book_.open(); }
    std::size_t answered() const { return book_.answered(); }
    // A token that a player was given lately, for attackers to try; one that nobody has used yet if it finds some.
    std::optional<std::pair<std::int32_t, Lobby>> some_lobby();

private:
    void opened(std::size_t link) override;
    void frame(std::size_t link, Code code, std::span<const std::byte> payload) override;
    void closed(std::size_t link) override;
    void sweep();
    // Calls use() with the peer of that link.
    void with(std::size_t link, auto&& use);

    Weather& weather_;
    Judge& judge_;
    LobbyBook book_;
    Agenda agenda_;
    bench::PeerLinks links_;
    Stage stage_;
    std::deque<HonestServer> servers_;
    std::deque<HonestMatchmaker> matchmakers_;
    std::deque<HonestPlayer> players_;
    std::optional<Moment> turned_;
};

}  // namespace muster::storm

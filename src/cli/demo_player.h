// One player of the demo: comes, plays, idles, loses the connection, leaves, and comes again.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <muster/player.h>
#include <muster/tcp_runner.h>

#include "base/random.h"
#include "cli/demo_fleet.h"

namespace muster {

// On the runner's thread, once it runs. Runner and random outlive what is posted to the runner.
class DemoPlayer {
public:
    using OnMatch = std::function<void(DemoPlayer&, const sdk::MatchStart&)>;

    // `number` gives it its name.
    DemoPlayer(sdk::TcpRunner& runner, Random& random, const DemoPace& pace, std::size_t number, OnMatch on_match);

    // Before the runner runs. The first login follows soon.
    void join(const std::string& address);
    // Logs out, for good.
    void leave();

    std::optional<sdk::AccountId> id() const;
    // True, and busy with that lobby from now on, when logged in and free.
    bool take_seat(sdk::LobbyId lobby);
    // No longer busy, if it was with that lobby.
    void leave_seat(sdk::LobbyId lobby);

private:
    void come_soon(std::int64_t least_ms, std::int64_t most_ms);
    void live_soon();
    // What this player does next.
    void live();
    void lose_connection();

    sdk::TcpRunner& runner_;
    Random& random_;
    std::string address_;
    std::string name_;
    sdk::Player client_;
    sdk::LobbyId lobby_{};  // 0: free
    int idle_turns_ = 0;    // for so long nothing is done
    bool over_ = false;
};

}  // namespace muster

// One game server of the demo: takes matches, plays them for a while, loses its link and comes back, and may die.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <muster/game_server.h>
#include <muster/tcp_runner.h>

#include "base/random.h"
#include "cli/demo_fleet.h"

namespace muster {

sdk::GameServerOptions demo_server_options(const DemoPace& pace, std::uint16_t port, sdk::RegionId region,
                                           std::int32_t slots);

// On the runner's thread, once it runs. Runner and random outlive what is posted to the runner.
class DemoServer {
public:
    DemoServer(sdk::TcpRunner& runner, Random& random, std::string address, sdk::GameServerOptions options);

    void join();
    // Says goodbye, for good.
    void leave();
    // The link is gone for a few seconds; the matches go on.
    void lose_link();
    // The process is gone without a word, and another one takes its place some seconds later.
    void crash();

    std::uint16_t port() const { return options_.port; }
    // A player came to the door.
    void let_in(sdk::LobbyId lobby, sdk::AccountId player, std::string_view token);

private:
    void play(sdk::LobbyId lobby);
    sdk::Load load();

    sdk::TcpRunner& runner_;
    Random& random_;
    std::string address_;
    sdk::GameServerOptions options_;
    std::unique_ptr<sdk::GameServer> client_;  // none while the process is gone
    bool away_ = false;                        // it has no link for a while
};

}  // namespace muster

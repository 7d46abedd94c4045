// What the tests of the runner share: clients to run, and something that happens on its thread to wait for.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>

#include "muster/game_server.h"
#include "muster/matchmaker.h"

namespace muster::sdk {

class Happening {
public:
    static constexpr std::chrono::seconds patience{60};  // of a test that would otherwise hang

    void happen() {
        if (!happened_.exchange(true)) promise_.set_value();
    }
    bool wait() { return future_.wait_for(patience) == std::future_status::ready; }

private:
    std::promise<void> promise_;
    std::future<void> future_ = promise_.get_future();
    std::atomic<bool> happened_{false};
};

inline GameServerOptions server_options(std::uint16_t port = 27015) {
    return {.ip = "127.0.0.1", .port = port, .region = RegionId{2}, .max_matches = 4};
}

inline MatchmakerOptions matchmaker_options() {
    return {.matchmaker_id = "chat-1", .regions = {RegionId{2}}};
}

}  // namespace muster::sdk

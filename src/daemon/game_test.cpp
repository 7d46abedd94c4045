#include "daemon/game.h"

#include <atomic>
#include <future>
#include <thread>

#include <doctest/doctest.h>

#include "base/no_log.h"
#include "base/system_clock.h"
#include "daemon/game_config.h"
#include "store/memory_store.h"

using namespace muster;
using namespace std::chrono_literals;

namespace {

// A game on free ports with a store in memory, and a question that holds its loop inside a pass until it is let go.
struct RunningGame {
    RunningGame() {
        for (auto* address : {&config.listen.servers, &config.listen.matchmakers, &config.listen.players})
            address->port = 0;
        ports.emplace(clock, network_config_of(config, TlsPorts{}, 1'000, log), false);
        game.emplace(config, *ports, clock, log, store, health);
        game->start(store.recover(), [this] { ready_.set_value(); }, [](const StoreError&) {});
        ready_.get_future().wait();
    }
    ~RunningGame() { let_go(); }

    void hold() {
        REQUIRE(game->ask([this](const Pass&, Game::Inside&) {
            held_.set_value();
            release_.get_future().wait();
        }));
        held_.get_future().wait();
    }
    void let_go() {
        if (!released_.exchange(true)) release_.set_value();
    }

    SystemClock clock;
    NoLog lines;
    Log log{clock, lines};
    Config config;
    MemoryStore store{clock};
    Health health{clock};
    std::optional<GamePorts> ports;
    std::optional<Game> game;

private:
    std::promise<void> ready_;
    std::promise<void> held_;
    std::promise<void> release_;
    std::atomic<bool> released_{false};
};

}  // namespace

TEST_CASE_FIXTURE(RunningGame, "X-3, fault 10: a stop is heard while no question finds room any more") {
    hold();
    std::size_t asked = 0;
    while (game->ask([](const Pass&, Game::Inside&) {})) ++asked;
    CHECK(asked > 0);
    auto stopped = std::async(std::launch::async, [&] { return game->stop(20s); });
    while (!game->stopping()) std::this_thread::yield();
    let_go();
    CHECK(stopped.get());
}

TEST_CASE_FIXTURE(RunningGame, "X-3, fault 10: a pass that does not end holds up a stop for no longer than its limit") {
    hold();
    CHECK_FALSE(game->stop(10ms));
    let_go();
}

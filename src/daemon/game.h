// The game thread and all that it owns: the loop, core, and their hands on the network and the store.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "base/entropy.h"
#include "base/log.h"
#include "base/time.h"
#include "core/core.h"
#include "core/core_snapshot.h"
#include "daemon/config.h"
#include "daemon/core_links.h"
#include "http/health.h"
#include "net/net_source.h"
#include "net/network.h"
#include "runtime/game_loop.h"
#include "runtime/mailbox.h"
#include "runtime/wakeup.h"
#include "store/store.h"

namespace muster {

// What the game thread last told of itself.
struct GameSnapshot {
    LoopSnapshot loop;
    CoreSnapshot core;
};

// Made, started and stopped by one thread; the game thread is its own.
class Game {
public:
    // Opens the game ports; throws ListenError. Nobody is served before start(). All of them outlive the game.
    Game(const Config& config, const Clock& clock, Log& log, Store& store, Health& health);
    // Stops at once, if nobody did before.
    ~Game();
    Game(const Game&) = delete;
    Game& operator=(const Game&) = delete;

    // Begins with what the store recovered. `on_ready` is called once, on the game thread, when peers may come;
    // `on_store_fatal` on the store's thread.
    void start(const RecoveredState& recovered, std::function<void()> on_ready, Store::OnFatal on_store_fatal);

    // refuses what is new, fails what is in flight, writes what is to be written, for at most `limit`; then the
    // thread ends and the ports are closed.
    void stop(Duration limit);

    // New figures from a reload. Any thread.
    void configure(const Config& config);

    // Any thread. The latest is at most a second old while the loop turns; none before it first turned.
    std::shared_ptr<const GameSnapshot> snapshot() const;
    const Network& network() const { return network_; }

private:
    // Runs on the game thread, inside a pass.
    using Command = Function<void(const Pass&)>;
    // Hands batches to the store.
    class ToStore final : public BatchOutput {
    public:
        explicit ToStore(Store& store) : store_(store) {}
        bool submit(RecordBatch&& batch) override { return store_.submit(std::move(batch)); }

    private:
        Store& store_;
    };

    void run();
    void turn_until_ready();
    void publish(const Pass& pass);
    void end_when_written(const Pass& pass);
    void post(Command command);

    const Clock& clock_;
    Log& log_;
    Store& store_;
    Health& health_;
    SystemEntropy entropy_;
    Wakeup wakeup_;
    Network network_;
    Config config_;

    // Any thread posts.
    Mailbox<Command> commands_;
    Mailbox<BatchOutcome> outcomes_;

    // The game thread's, once it runs.
    GameLoop loop_;
    CoreLinks links_;
    ToStore to_store_;
    std::optional<Core> core_;
    std::array<std::unique_ptr<CoreEvents>, 3> core_events_;
    std::array<std::unique_ptr<NetSource>, 3> sources_;
    std::function<void()> on_ready_;
    bool draining_ = false;

    std::thread thread_;
    mutable std::mutex snapshot_mutex_;
    std::shared_ptr<const GameSnapshot> snapshot_;  // guarded by snapshot_mutex_
};

}  // namespace muster

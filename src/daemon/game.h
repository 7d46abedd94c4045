// The game thread and what it owns: the loop, core, and their connections to the network and the store.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/entropy.h"
#include "base/log.h"
#include "base/time.h"
#include "cluster/held_outcomes.h"
#include "config/config.h"
#include "core/core.h"
#include "core/core_figures.h"
#include "daemon/figures_line.h"
#include "daemon/noted_links.h"
#include "daemon/noted_peers.h"
#include "daemon/tls_ports.h"
#include "http/health.h"
#include "net/net_source.h"
#include "net/network.h"
#include "relay/game_ports.h"
#include "runtime/game_loop.h"
#include "runtime/mailbox.h"
#include "store/store.h"

namespace muster {

// How a game ends.
enum class GameEnd : std::uint8_t {
    closes,      // refuses what is new, fails what is in flight, says good-bye, closes the ports
    hands_over,  // N-6: finishes what it can and writes it; the peers stay for who comes next
    abandons,    // N-2: not one more word; the peers stay
};

// The game thread's latest figures.
struct GameFigures {
    LoopFigures loop;
    CoreFigures core;
    double ticks_per_second = 0;  // since the figures before
    double messages_per_second = 0;
    Time taken{};
};

// Made, started and stopped by one thread; the game thread is its own.
class Game {
public:
    // Nobody is served before start(). All of them outlive the game, but for the config and the name of its cell, which
    // is empty where there is one only.
    Game(const Config& config, GamePorts& ports, const Clock& clock, Log& log, Store& store, Health& health,
         std::string cell = {});
    // Stops at once, if nobody did before, and waits for the game thread. Peers that may stay do.
    ~Game();
    Game(const Game&) = delete;
    Game& operator=(const Game&) = delete;

    // Begins with what the store recovered. `on_ready` is called once, on the game thread, when peers may come;
    // `on_store_fatal` on the store's thread.
    void start(RecoveredState&& recovered, std::function<void()> on_ready, Store::OnFatal on_store_fatal);

    // Requests of matchmakers wait until `all_here` says so, or `requests_wait_max` is over: a game that has taken over
    // hears first of the game servers at other nodes (N-6). Before start().
    static constexpr std::chrono::milliseconds requests_wait_max{1'000};
    void hold_requests(std::function<bool()> all_here) { all_here_ = std::move(all_here); }

    // Ends in that way, and writes what is to be written, for at most `limit`, however much is queued; then the thread
    // ends. False when the pass under way does not end: then the thread goes on, and destroying the game waits for it.
    [[nodiscard]] bool stop(Duration limit, GameEnd how = GameEnd::closes);

    // Whether stop() was called. Any thread.
    bool stopping() const { return stop_asked_.load(std::memory_order_acquire); }

    // New figures from a reload. `held` is called on the loop's thread once all of them hold. Any thread.
    void configure(const Config& config, const TlsPorts& tls, std::function<void()> held);

    // What a question finds on the game thread.
    struct Inside {
        Core& core;
        Events& events;
        UnixMs wall;  // the date
    };
    using Question = std::function<void(const Pass& pass, Inside& inside)>;
    // Runs it on the game thread, inside a pass. False when too many wait. Any thread, between start() and stop().
    [[nodiscard]] bool ask(Question question);

    // Hears the verdict on each Core::allocate(), on the game thread. Before start().
    using OnAnswered = std::function<void(const AnsweredQuestion&)>;
    void on_answered(OnAnswered on_answered) { on_answered_ = std::move(on_answered); }

    // The same of each Core::ask_host().
    using OnHostVerdict = std::function<void(HostVerdict&&)>;
    void on_host_verdict(OnHostVerdict on_host_verdict) { on_host_verdict_ = std::move(on_host_verdict); }

    // Any thread. The latest is at most a second old while the loop turns; none before it first turned.
    std::shared_ptr<const GameFigures> figures() const;
    const Network& network() const { return ports_.network(); }
    // What wakes the game thread.
    Waiter& waiter() { return network_.waiter(); }

private:
    // Runs on the game thread, inside a pass.
    using Command = Function<void(const Pass&)>;
    // Hands batches to the store.
    class ToStore final : public BatchOutput {
    public:
        explicit ToStore(Store& store) : store_(store) {}
        bool submit(RecordBatch&& batch) override { return store_.submit(std::move(batch)); }
        bool in_doubt() const override { return store_.in_doubt(); }
        bool may_answer() override { return store_.may_answer(Store::answer_margin); }

    private:
        Store& store_;
    };

    LinkOutput& link_output();
    std::unique_ptr<PortSource> port_source(Port port);
    void run();
    void turn_until_ready();
    void drain(const Pass& pass);
    void hand_over(const Pass& pass);
    void let_peers_in(const Pass& pass);
    void let_requests_in(Time until);
    void park(bool parked);
    void leave_peers();
    void tell_outcome(const Pass& pass, BatchOutcome&& outcome);
    void look_again_soon();
    void publish(const Pass& pass);
    void end_when_written();
    void post(Command command);

    const Clock& clock_;
    Log& log_;
    Store& store_;
    Health& health_;
    SystemEntropy system_entropy_;
    PooledEntropy entropy_{system_entropy_};
    GamePorts& ports_;
    Network& network_;
    PeerBook* const book_;  // null: the peers end with the game
    const std::string cell_;
    Config config_;

    // Any thread posts.
    Mailbox<Command> commands_;
    Mailbox<BatchOutcome> outcomes_;

    // The game thread's, once it runs.
    GameLoop loop_;
    std::optional<NotedLinks> noted_links_;  // with a book
    ToStore to_store_;
    std::optional<Core> core_;
    std::optional<FiguresLine> figures_line_;
    std::optional<NotedPeers> noted_peers_;  // with a book
    std::array<std::unique_ptr<PortSource>, 3> sources_;
    std::function<void()> on_ready_;
    std::function<bool()> all_here_;
    OnAnswered on_answered_;
    OnHostVerdict on_host_verdict_;
    bool draining_ = false;
    bool waits_for_offers_ = false;  // of a hand-over: what is in flight may still be acknowledged
    HeldOutcomes held_;
    bool looks_again_ = false;  // a timer runs that asks the store again

    // Written before the flag, which any thread may read.
    Duration stop_limit_{0};
    GameEnd end_way_ = GameEnd::closes;
    std::atomic<bool> stop_asked_{false};

    std::thread thread_;
    std::promise<void> ended_;  // the game thread's last step
    std::future<void> end_ = ended_.get_future();
    mutable std::mutex figures_mutex_;
    std::shared_ptr<const GameFigures> figures_;  // guarded by figures_mutex_
};

}  // namespace muster

// One of several cells at this node, over all its terms (N-7, N-12): a thread that stands by for the cell, owns it,
// serves it with a game of its own, and gives it away again.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "base/time.h"
#include "cluster/node.h"
#include "cluster/node_cell.h"
#include "cluster/node_life.h"
#include "cluster/rule_books.h"
#include "config/config.h"
#include "daemon/game.h"
#include "daemon/http_front.h"
#include "http/cluster_view.h"
#include "http/health.h"
#include "http/metrics_text.h"
#include "relay/cell_routes.h"
#include "relay/node_port.h"
#include "relay/relay_thread.h"
#include "store/store.h"

namespace muster {

// Made, started and ended by one thread; works on a thread of its own between start and end. What it is given outlives
// it, but for the config.
class CellRunner {
public:
    struct Parts {
        const Config& config;
        const Clock& clock;
        Log& log;
        Node& node;  // has joined
        ClusterFigures& figures;
        RelayThread& relay;
        NodePort& port;
        HttpFront& http;
        RuleBooks& books;  // the first cell writes them
        // What cannot go on: the process ends. On any thread.
        std::function<void(const StoreError&)> die;
    };

    CellRunner(const Parts& parts, CellNumber number);
    // As stop(), if nobody called it.
    ~CellRunner();
    CellRunner(const CellRunner&) = delete;
    CellRunner& operator=(const CellRunner&) = delete;

    const std::string& cell() const { return cell_; }
    void start();

    // Hands the cell over, if it is ours, and ends. begin_stop() does not wait for it. True: another node is to have
    // it.
    void begin_stop();
    bool stop();

    // Any thread, all of them.
    bool is_owned() const { return is_owned_.load(std::memory_order_acquire); }
    // Its game makes no passes; none: all is well, or there is no game.
    std::optional<std::string> hang() const { return is_owned() ? health_.hang() : std::nullopt; }
    // An operator wants another node to own the cell.
    MoveVerdict ask_to_move(const MoveWish& wish);
    // New figures from a reload. `held` is called once they hold, on any thread.
    void configure(const Config& config, std::function<void()> held);
    // With the label of the cell.
    std::vector<Metric> metrics() const;

private:
    // What there is of a term while the cell is ours.
    struct Term;

    void run();
    // A life: until the cell was lost or handed over, or the runner is to end.
    void live();
    // False when it is to end first.
    bool stand_by(NodeCell& cell);
    void own(NodeCell& cell);
    void serve(Term& term);
    bool take_news(Game& game, CellNews&& news);
    void give_away(Term& term, bool hands_over);
    void follow_successor();
    // False once the runner is to end.
    bool wait(Duration at_most);
    bool is_stopping() const { return stop_asked_.load(std::memory_order_acquire); }

    Config config() const;

    const Parts parts_;
    const CellNumber number_;
    const std::string cell_;
    Health health_;
    std::uint32_t generation_ = 0;  // see RelayedLinks

    std::atomic<bool> stop_asked_{false};
    std::atomic<bool> is_owned_{false};
    std::atomic<bool> has_successor_{false};
    std::atomic<bool> is_lost_{false};  // the fence has refused a batch of this term
    std::mutex wait_mutex_;
    std::condition_variable wait_;

    mutable std::mutex mutex_;
    Term* term_ = nullptr;  // guarded by mutex_
    Config config_;         // the same

    std::thread thread_;  // last: it uses the others
};

}  // namespace muster

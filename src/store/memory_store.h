// For tests: a store without a disk. It is turned by hand: the owner decides when a batch becomes
// durable, which batches fail, and when the machine crashes.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>

#include "base/time.h"
#include "store/commit_figures.h"
#include "store/latest_state.h"
#include "store/store.h"

namespace muster {

// When a batch that was handed over is answered.
enum class Completion : std::uint8_t {
    at_once,  // inside submit()
    by_hand,  // by complete_next()
    delayed   // by complete_due(), `delay` after it was handed over
};

struct MemoryStoreOptions {
    Completion completion = Completion::at_once;
    Duration delay{0};
    std::size_t queue_max = 1024;
    Duration history_keep = std::chrono::hours(7 * 24);
    Duration lobby_memory = std::chrono::hours(24);
};

// One thread only; the callbacks are called on it. The clock outlives the store.
class MemoryStore final : public Store {
public:
    explicit MemoryStore(const Clock& clock, MemoryStoreOptions options = {});

    RecoveredState recover() override;
    void on_durable(OnDurable on_durable) override { on_durable_ = std::move(on_durable); }
    void start(OnOutcome on_outcome, OnFatal on_fatal) override;
    [[nodiscard]] bool submit(RecordBatch&& batch) override;
    // Completes all that waits, whatever `limit` says; what is set by fail_with() fails here too.
    bool stop(Duration limit) override;
    EventsFound find_events(const EventSearch& search) override;
    StoreFigures figures() const override;
    // The limits are those of its options.
    void keep_history(const HistoryLimits&) override {}

    // How batches are answered from now on; those that wait keep their hour.
    void set_completion(Completion completion, Duration delay = {});
    // From now on every batch ends like this, unless complete_next() is told otherwise; `none` heals.
    void fail_with(StoreFault fault) { fault_ = fault; }

    // Batches handed over and not yet answered.
    std::size_t pending() const { return waiting_.size(); }
    // When the oldest of them is due; empty when none waits, or when it waits for complete_next().
    std::optional<Time> next_due() const;

    // Answers the oldest batch: durable when the fault is `none`. False when none waits.
    bool complete_next();
    bool complete_next(StoreFault fault);
    // Answers, in order, what is due at `now`, and returns how many.
    std::size_t complete_due(Time now);

    // The disk is beyond repair (fault 3): on_fatal is called, and nothing is answered any more.
    void die(const StoreError& error);

    // The machine stops and starts again: what was not answered is lost, but for the `written` oldest batches, which
    // became durable before anybody could be told. Takes the callbacks away; start() begins anew. What fail_with() set
    // stays: a full disk is full after a restart, too.
    RecoveredState crash(std::size_t written = 0);

    // Drops the past that is older than `history_keep` at `now`.
    void prune(UnixMs now);

private:
    struct Waiting {
        RecordBatch batch;
        Time handed_over;
        std::optional<Time> due;
    };

    KeptPast kept(UnixMs now) const;

    const Clock& clock_;
    MemoryStoreOptions options_;
    StoreFault fault_ = StoreFault::none;
    LatestState durable_;
    std::deque<Waiting> waiting_;
    CommitFigures figures_;
    OnDurable on_durable_;
    OnOutcome on_outcome_;
    FailedBatch last_failed_;
    OnFatal on_fatal_;
    bool started_ = false;
    bool completing_ = false;
    bool dead_ = false;
};

}  // namespace muster

// The thread of a store: takes batches, writes several of them as one group, and tells their outcomes in order. What
// writing means is the engine's.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "base/time.h"
#include "store/commit_pace.h"
#include "store/store.h"

namespace muster {

// Called on the store's thread only.
class StoreEngine {
public:
    virtual ~StoreEngine() = default;

    // Makes all of the group durable in one transaction. After any fault nothing of it was written. Throws the
    // StoreError to end with.
    virtual StoreFault commit(std::span<const RecordBatch> group, std::size_t records) = 0;
    // Of a batch of the group that was just made durable: as BatchOutcome::anothers.
    virtual std::vector<std::size_t> anothers(const RecordBatch&) const { return {}; }
    // Upkeep, after the answers: no promise waits for it. `idle` when no batch came for the time of patience().
    virtual void keep_up(bool idle) = 0;
    // How long to wait for a batch before the next upkeep.
    virtual Duration patience() const = 0;
    // The last step. `hurried`: nobody waits for it; otherwise there is time until `by`.
    virtual void close(Time by, bool hurried) = 0;
    // The store is beyond repair: it writes nothing any more.
    virtual void died() = 0;
};

// Made, started and stopped by one thread; submit() and stop() are for that thread, too.
class StoreThread {
public:
    struct Limits {
        // Batches handed over and not yet answered.
        std::size_t queue_max = 8192;
        // A larger batch is written alone.
        std::size_t records_per_commit_max = 16'384;
        // Under load, groups begin so far apart (commit_pace.h).
        Duration commits_apart{0};
    };

    // The clock and the engine outlive it; the clock may be asked from any thread.
    StoreThread(const Clock& clock, StoreEngine& engine, Limits limits)
        : clock_(clock), engine_(engine), limits_(limits), pace_(limits.commits_apart) {}
    // Without a stop() before, what still waits is lost, as by a crash. Waits for a write that is under way.
    ~StoreThread() { end(); }
    StoreThread(const StoreThread&) = delete;
    StoreThread& operator=(const StoreThread&) = delete;

    void on_durable(Store::OnDurable on_durable) { on_durable_ = std::move(on_durable); }
    void start(Store::OnOutcome on_outcome, Store::OnFatal on_fatal);
    bool has_started() const { return thread_.joinable(); }

    // As Store::submit(); also false when the store is stopping or beyond repair.
    [[nodiscard]] bool submit(RecordBatch&& batch);
    // As Store::stop(). When `limit` passes first, the write under way is the last one.
    bool stop(Duration limit);
    // What the destructor does; for an engine that must outlive the thread but is a part of the same store.
    void end();

    // Upkeep now. Any thread.
    void wake();
    std::size_t unanswered() const;
    // End after the present transaction. Any thread; a commit that waits for the engine asks.
    bool abandoned() const;

private:
    enum class Turn : std::uint8_t { work, idle, end };

    void run();
    Turn wait(std::vector<RecordBatch>& taken);
    void rest(std::unique_lock<std::mutex>& lock);
    void write(std::vector<RecordBatch>& taken);
    void write_group(std::span<RecordBatch> group, std::size_t records);
    void close();

    const Clock& clock_;
    StoreEngine& engine_;
    const Limits limits_;

    // The store's thread only, once it runs.
    Store::OnDurable on_durable_;
    Store::OnOutcome on_outcome_;
    Store::OnFatal on_fatal_;
    FailedBatch last_failed_;
    CommitPace pace_;

    // Guarded by mutex_.
    mutable std::mutex mutex_;
    std::condition_variable work_;   // for the store's thread
    std::condition_variable ended_;  // for stop()
    std::vector<RecordBatch> waiting_;
    std::size_t unanswered_ = 0;
    bool woken_ = false;
    bool resting_ = false;   // it wakes by itself
    bool stopping_ = false;  // write what waits, then end
    Time stop_by_;
    bool abandoned_ = false;  // end after the present transaction
    bool failed_ = false;     // a batch was not written although we are stopping
    bool dead_ = false;
    bool has_ended_ = false;

    std::thread thread_;
};

}  // namespace muster

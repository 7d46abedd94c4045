// The store on disk: SQLite with a write-ahead log and full syncs, on a thread of its own, many batches to one sync.
#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <span>

#include "base/time.h"
#include "store/commit_figures.h"
#include "store/committer.h"
#include "store/disk_space.h"
#include "store/event_reader.h"
#include "store/history_limits.h"
#include "store/settled_date.h"
#include "store/store.h"
#include "store/store_thread.h"

namespace muster {

struct SqliteStoreOptions {
    StoreFileOptions file{};
    // Batches handed over and not yet answered. A busy loop hands over some thousands a second: a disk that stalls for
    // a second or two is waited for.
    std::size_t queue_max = 8192;
    // A larger batch is written alone. A thousand matches a second are ten thousand records: so many fit one sync, even
    // when each takes a second.
    std::size_t records_per_commit_max = 16'384;
    // Under load, commits begin so far apart: one takes 0.2 ms or so, and would follow the other without a pause.
    Duration commits_apart = std::chrono::microseconds(400);
    HistoryLimits history{};
    Duration prune_every = std::chrono::minutes(1);
    Duration idle_after = std::chrono::milliseconds(200);  // without a batch for so long, the log may be emptied
};

// Built, recovered and started by one thread; submit() and stop() are for that thread, too. The callbacks are called on
// the store's thread. The clock outlives the store and may be asked from any thread.
//
// A batch whose transaction found the disk full or locked is answered so, and left no trace; the next is tried again.
// After any other fault of the disk nothing is written or answered any more (fault 3).
class SqliteStore final : public Store, private StoreEngine {
public:
    // Opens or makes the file; fails with StoreError as StoreFile does.
    SqliteStore(const Clock& clock, const SqliteStoreOptions& options);
    // Without a stop() before, what still waits is lost, as by a crash. Waits for a write that is under way, however
    // slow the disk: a process in a hurry ends without destroying its store.
    ~SqliteStore() override;

    RecoveredState recover() override;
    PastMatches latest_over(std::size_t limit) override;
    void on_durable(OnDurable on_durable) override { thread_.on_durable(std::move(on_durable)); }
    void start(OnOutcome on_outcome, OnFatal on_fatal) override;
    // Also false when the store is stopping or beyond repair.
    [[nodiscard]] bool submit(RecordBatch&& batch) override { return thread_.submit(std::move(batch)); }
    // When `limit` passes first, the write under way is the last one: batches behind it get no outcome.
    bool stop(Duration limit) override { return thread_.stop(limit); }
    // Fails with StoreError when the disk cannot be read.
    EventsFound find_events(const EventSearch& search) override;
    StoreFigures figures() const override;

    void keep_history(const HistoryLimits& limits) override;

private:
    StoreFault commit(std::span<const RecordBatch> group, std::size_t records) override;
    void keep_up(bool idle) override;
    Duration patience() const override;
    void close(Time by, bool hurried) override;
    void died() override;
    void look();
    void prune();
    bool is_too_much();
    bool is_cache_to_be_released() const;
    KeptPast kept();

    const Clock& clock_;
    const SqliteStoreOptions options_;
    CommitFigures figures_;

    // The store's thread only, once it runs.
    Committer committer_;
    HistoryLimits history_;
    SettledDate date_;
    Time next_prune_;
    Time next_look_;
    Time next_release_{};
    bool pruning_ = false;      // something may be left that is too old
    bool shrinking_ = true;     // it may be too much
    std::int64_t written_ = 0;  // records since the file's size was last looked at
    DiskSpace disk_;
    Duration last_commit_took_{0};

    mutable std::mutex mutex_;
    std::optional<HistoryLimits> new_limits_;  // guarded by mutex_

    EventReader events_;
    StoreThread thread_;  // last: it ends before what it uses
};

}  // namespace muster

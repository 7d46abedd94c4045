// The store on disk: SQLite with a write-ahead log and full syncs, on a thread of its own, many batches to one sync.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/time.h"
#include "store/commit_figures.h"
#include "store/committer.h"
#include "store/disk_space.h"
#include "store/event_reader.h"
#include "store/settled_date.h"
#include "store/store.h"

namespace muster {

// How much of the past is kept: what is older goes, and of what is left the oldest when it is too much. Lobbies that
// are over are remembered for `lobbies`, and the latest million in any case.
struct HistoryLimits {
    Duration keep = std::chrono::hours(7 * 24);
    std::int64_t bytes_max = std::int64_t{2} << 30;
    Duration lobbies = std::chrono::hours(24);
};

struct SqliteStoreOptions {
    StoreFileOptions file{};
    // Batches handed over and not yet answered. A busy loop hands over some thousands a second: a disk that stalls for
    // a second or two is waited for.
    std::size_t queue_max = 8192;
    // A larger batch is written alone. A thousand matches a second are ten thousand records: so many fit one sync, even
    // when each takes a second.
    std::size_t records_per_commit_max = 16'384;
    HistoryLimits history{};
    Duration prune_every = std::chrono::minutes(1);
    Duration idle_after = std::chrono::milliseconds(200);  // without a batch for so long, the log may be emptied
};

// Built, recovered and started by one thread; submit() and stop() are for that thread, too. The callbacks are called on
// the store's thread. The clock outlives the store and may be asked from any thread.
//
// A batch whose transaction found the disk full or locked is answered so, and left no trace; the next is tried again.
// After any other fault of the disk nothing is written or answered any more (fault 3).
class SqliteStore final : public Store {
public:
    // Opens or makes the file; fails with StoreError as StoreFile does.
    SqliteStore(const Clock& clock, const SqliteStoreOptions& options);
    // Without a stop() before, what still waits is lost, as by a crash. Waits for a write that is under way, however
    // slow the disk: a process in a hurry ends without destroying its store.
    ~SqliteStore() override;

    RecoveredState recover() override;
    void on_durable(OnDurable on_durable) override { on_durable_ = std::move(on_durable); }
    void start(OnOutcome on_outcome, OnFatal on_fatal) override;
    // Also false when the store is stopping or beyond repair.
    [[nodiscard]] bool submit(RecordBatch&& batch) override;
    // When `limit` passes first, the write under way is the last one: batches behind it get no outcome.
    bool stop(Duration limit) override;
    // Fails with StoreError when the disk cannot be read.
    std::vector<EventRecord> events_after(std::int64_t after_id, std::size_t limit) override;
    std::vector<EventRecord> events_before(std::int64_t before_id, std::size_t limit) override;
    StoreFigures figures() const override;

    // Keeps so much of the past from now on; what is too old or too much goes at once. Any thread.
    void keep_history(const HistoryLimits& limits);

private:
    enum class Turn : std::uint8_t { work, idle, end };

    void run();
    Turn wait(std::vector<RecordBatch>& taken);
    Duration patience() const;
    void write(std::vector<RecordBatch>& taken);
    void write_group(std::span<RecordBatch> group, std::size_t records);
    StoreFault commit(std::span<const RecordBatch> group, std::size_t records);
    void keep_up(bool idle);
    void look();
    void prune();
    bool is_too_much();
    void close();
    void die(const StoreError& error);
    KeptPast kept();

    const Clock& clock_;
    const SqliteStoreOptions options_;
    CommitFigures figures_;

    // The store's thread only, once it runs.
    Committer committer_;
    OnDurable on_durable_;
    OnOutcome on_outcome_;
    OnFatal on_fatal_;
    FailedBatch last_failed_;
    HistoryLimits history_;
    SettledDate date_;
    Time next_prune_;
    Time next_look_;
    bool pruning_ = false;      // something may be left that is too old
    bool shrinking_ = true;     // it may be too much
    std::int64_t written_ = 0;  // records since the past was last made smaller
    DiskSpace disk_;
    Duration last_commit_took_{0};

    // Guarded by mutex_.
    mutable std::mutex mutex_;
    std::condition_variable work_;   // for the store's thread
    std::condition_variable ended_;  // for stop()
    std::vector<RecordBatch> waiting_;
    std::size_t unanswered_ = 0;
    std::optional<HistoryLimits> new_limits_;
    bool stopping_ = false;  // write what waits, then end
    Time stop_by_;
    bool abandoned_ = false;  // end after the present transaction
    bool failed_ = false;     // a batch was not written although we are stopping
    bool dead_ = false;
    bool has_ended_ = false;

    EventReader events_;
    std::thread thread_;
};

}  // namespace muster

#include "store/sqlite_store.h"

#include <utility>

#include "base/check.h"
#include "base/thread_name.h"

namespace muster {

SqliteStore::SqliteStore(const Clock& clock, const SqliteStoreOptions& options)
    : clock_(clock),
      options_(options),
      history_keep_(options.history_keep),
      committer_(options.file),
      next_prune_(clock.now() + options.prune_every),
      events_(committer_.path(), options.file.vfs) {}

SqliteStore::~SqliteStore() {
    {
        const std::lock_guard lock(mutex_);
        abandoned_ = true;
    }
    work_.notify_one();
    if (thread_.joinable()) thread_.join();
}

RecoveredState SqliteStore::recover() {
    MUSTER_CHECK(!thread_.joinable(), "a store is recovered before it starts");
    return committer_.recover(kept_since(clock_.wall()));
}

void SqliteStore::start(OnOutcome on_outcome, OnFatal on_fatal) {
    MUSTER_CHECK(!thread_.joinable() && !has_ended_, "a store starts once");
    on_outcome_ = std::move(on_outcome);
    on_fatal_ = std::move(on_fatal);
    thread_ = std::thread([this] { run(); });
}

bool SqliteStore::submit(RecordBatch&& batch) {
    {
        const std::lock_guard lock(mutex_);
        if (dead_ || stopping_ || unanswered_ >= options_.queue_max) return false;
        waiting_.push_back(std::move(batch));
        ++unanswered_;
    }
    work_.notify_one();
    return true;
}

bool SqliteStore::stop(Duration limit) {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    stop_by_ = clock_.now() + limit;
    work_.notify_one();
    if (thread_.joinable()) {
        ended_.wait_for(lock, limit, [&] { return has_ended_; });
        abandoned_ = true;
    }
    const bool written = unanswered_ == 0 && !failed_ && !dead_;
    const bool ended = has_ended_;
    lock.unlock();
    if (ended && thread_.joinable()) thread_.join();
    return written;
}

std::vector<EventRecord> SqliteStore::events_after(std::int64_t after_id, std::size_t limit) {
    return events_.events_after(after_id, limit);
}

std::vector<EventRecord> SqliteStore::events_before(std::int64_t before_id, std::size_t limit) {
    return events_.events_before(before_id, limit);
}

StoreFigures SqliteStore::figures() const {
    StoreFigures figures = figures_.now();
    const std::lock_guard lock(mutex_);
    figures.queue_depth = unanswered_;
    return figures;
}

void SqliteStore::keep_history(Duration keep) {
    history_keep_.store(keep);
    prune(clock_.wall());
}

void SqliteStore::prune(UnixMs now) {
    {
        const std::lock_guard lock(mutex_);
        prune_asked_ = now;
    }
    work_.notify_one();
}

void SqliteStore::run() {
    name_this_thread("store");
    try {
        std::vector<RecordBatch> taken;
        for (Turn turn = wait(taken); turn != Turn::end; turn = wait(taken)) {
            write(taken);
            keep_up(turn == Turn::idle);
        }
        close();
    } catch (const StoreError& error) {
        die(error);
    }
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
    ended_.notify_all();
}

// Waits for batches, but not longer than the next upkeep allows.
SqliteStore::Turn SqliteStore::wait(std::vector<RecordBatch>& taken) {
    taken.clear();
    std::unique_lock lock(mutex_);
    const bool woken = work_.wait_for(
        lock, patience(), [&] { return !waiting_.empty() || stopping_ || abandoned_ || prune_asked_.has_value(); });
    if (abandoned_) return Turn::end;
    if (prune_asked_) pruning_since_ = kept_since(*std::exchange(prune_asked_, std::nullopt));
    taken.swap(waiting_);
    if (!taken.empty()) return Turn::work;
    if (stopping_) return Turn::end;
    return woken ? Turn::work : Turn::idle;
}

Duration SqliteStore::patience() const {
    if (pruning_since_) return Duration::zero();
    return committer_.is_log_worth_emptying() ? options_.idle_after : options_.prune_every;
}

void SqliteStore::write(std::vector<RecordBatch>& taken) {
    std::size_t first = 0;
    while (first < taken.size()) {
        std::size_t end = first;
        std::size_t records = 0;
        do {
            records += taken[end++].records.size();
        } while (end < taken.size() && records + taken[end].records.size() <= options_.records_per_commit_max);
        write_group(std::span(taken).subspan(first, end - first), records);
        first = end;
        const std::lock_guard lock(mutex_);
        if (abandoned_) return;
    }
}

void SqliteStore::write_group(std::span<const RecordBatch> group, std::size_t records) {
    const Time began = clock_.now();
    const StoreFault fault = committer_.commit(group, clock_.wall());
    last_commit_took_ = clock_.now() - began;
    if (fault == StoreFault::none) {
        figures_.committed(records, last_commit_took_);
    } else {
        figures_.failed(fault);
    }
    {
        const std::lock_guard lock(mutex_);
        unanswered_ -= group.size();
        if (fault != StoreFault::none && stopping_) failed_ = true;
    }
    for (const RecordBatch& batch : group) on_outcome_({batch.number, fault});
}

// Upkeep comes after the answers: no promise waits for it.
void SqliteStore::keep_up(bool idle) {
    if (clock_.now() >= next_prune_) {
        next_prune_ = clock_.now() + options_.prune_every;
        pruning_since_ = kept_since(clock_.wall());
    }
    if (pruning_since_ && !committer_.prune_step(*pruning_since_)) pruning_since_.reset();
    if (committer_.is_log_long()) {
        committer_.shorten_log();
    } else if (idle && !pruning_since_ && committer_.is_log_worth_emptying()) {
        committer_.empty_log();
    }
}

// A store that is stopped is one file, which can be copied. When the disk is too slow for that, or nobody waits for it,
// the log stays beside the file, as after a crash.
void SqliteStore::close() {
    constexpr int commits_worth = 10;  // moving the log takes several syncs and writes all over the file
    bool in_time = false;
    {
        const std::lock_guard lock(mutex_);
        in_time = stopping_ && !abandoned_ && clock_.now() + commits_worth * last_commit_took_ <= stop_by_;
    }
    if (in_time) {
        committer_.empty_log();
    } else {
        committer_.distrust();
    }
}

void SqliteStore::die(const StoreError& error) {
    committer_.distrust();
    events_.distrust();
    figures_.died();
    {
        const std::lock_guard lock(mutex_);
        dead_ = true;
    }
    if (on_fatal_) on_fatal_(error);
}

UnixMs SqliteStore::kept_since(UnixMs now) const {
    const auto keep = std::chrono::duration_cast<std::chrono::milliseconds>(history_keep_.load());
    return UnixMs{now.value - keep.count()};
}

}  // namespace muster

#include "store/sqlite_store.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/planted.h"
#include "base/thread_name.h"

namespace muster {
namespace {

// How often the date, the file's size and the disk's room are looked at.
constexpr std::chrono::seconds look_every{1};

}  // namespace

SqliteStore::SqliteStore(const Clock& clock, const SqliteStoreOptions& options)
    : clock_(clock),
      options_(options),
      committer_(options.file),
      history_(options.history),
      date_(clock.now(), committer_.latest_date().value_or(clock.wall())),
      next_prune_(clock.now() + options.prune_every),
      next_look_(clock.now()),
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
    return committer_.recover(kept());
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

void SqliteStore::keep_history(const HistoryLimits& limits) {
    {
        const std::lock_guard lock(mutex_);
        new_limits_ = limits;
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
        lock, patience(), [&] { return !waiting_.empty() || stopping_ || abandoned_ || new_limits_.has_value(); });
    if (abandoned_) return Turn::end;
    if (new_limits_) {
        history_ = *std::exchange(new_limits_, std::nullopt);
        pruning_ = shrinking_ = true;
    }
    taken.swap(waiting_);
    if (!taken.empty()) return Turn::work;
    if (stopping_) return Turn::end;
    return woken ? Turn::work : Turn::idle;
}

Duration SqliteStore::patience() const {
    if (pruning_ || shrinking_) return Duration::zero();
    return std::min<Duration>(committer_.is_log_worth_emptying() ? options_.idle_after : options_.prune_every,
                              look_every);
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

void SqliteStore::write_group(std::span<RecordBatch> group, std::size_t records) {
    // Batches of one group follow one another: the first speaks for all.
    StoreFault fault = last_failed_.fault_of(group.front());
    if (fault == StoreFault::none) fault = commit(group, records);
    {
        const std::lock_guard lock(mutex_);
        unanswered_ -= group.size();
        if (fault != StoreFault::none && stopping_) failed_ = true;
    }
    if (fault == StoreFault::none) {
        for (const RecordBatch& batch : group) {
            if (on_durable_) on_durable_(batch);
            on_outcome_({batch.number, fault});
        }
        return;
    }
    last_failed_ = {group.back().number, fault};
    for (RecordBatch& batch : group) on_outcome_({batch.number, fault, std::move(batch.records)});
}

StoreFault SqliteStore::commit(std::span<const RecordBatch> group, std::size_t records) {
    const Time began = clock_.now();
    const StoreFault fault = committer_.misplaced() ? StoreFault::misplaced : committer_.commit(group, clock_.wall());
    last_commit_took_ = clock_.now() - began;
    if (fault == StoreFault::none) {
        figures_.committed(records, last_commit_took_);
        written_ += static_cast<std::int64_t>(records);
    } else {
        figures_.failed(fault);
    }
    return fault;
}

// Upkeep comes after the answers: no promise waits for it.
void SqliteStore::keep_up(bool idle) {
    if (clock_.now() >= next_look_) look();
    prune();
    if (committer_.is_log_long()) {
        committer_.shorten_log();
    } else if (idle && !pruning_ && !shrinking_ && committer_.is_log_worth_emptying()) {
        committer_.empty_log();
    }
}

void SqliteStore::look() {
    next_look_ = clock_.now() + look_every;
    if (clock_.now() >= next_prune_) {
        next_prune_ = clock_.now() + options_.prune_every;
        pruning_ = true;
    }
    date_.observe(clock_.now(), clock_.wall());
    disk_ = disk_space(committer_.path());
    figures_.measured(committer_.used_bytes(), disk_.free_bytes, committer_.misplaced());
}

// At least as much goes as came, so that a flood cannot outrun it.
void SqliteStore::prune() {
    if (pruning_) pruning_ = committer_.prune_step(kept());
    const std::int64_t rows = std::max(History::rows_per_step_max, std::exchange(written_, 0));
    shrinking_ = is_too_much() && committer_.prune_oldest(kept(), rows) > 0;
}

// More than the limit, or so much that the disk is nearly full and the file has no room of its own left: then history
// gives way, so that what matters can still be written (fault 19).
bool SqliteStore::is_too_much() {
    if (planted(Bug::history_unbounded)) return false;
    if (committer_.used_bytes() > history_.bytes_max) return true;
    return disk_.free_bytes < disk_.reserve_bytes() && committer_.reusable_bytes() < disk_.reserve_bytes() / 4;
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

KeptPast SqliteStore::kept() {
    const UnixMs now = date_.observe(clock_.now(), clock_.wall());
    const auto before = [now](Duration keep) {
        return UnixMs{now.value - std::chrono::duration_cast<std::chrono::milliseconds>(keep).count()};
    };
    return {before(history_.keep), before(history_.lobbies)};
}

}  // namespace muster

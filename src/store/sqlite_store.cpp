#include "store/sqlite_store.h"

#include <algorithm>
#include <utility>

#include "base/allocator.h"
#include "base/check.h"
#include "base/planted.h"

namespace muster {
namespace {

// How often the date, the file's size and the disk's room are looked at.
constexpr std::chrono::seconds look_every{1};
constexpr std::chrono::minutes release_every{1};  // the cache, at most

}  // namespace

SqliteStore::SqliteStore(const Clock& clock, const SqliteStoreOptions& options)
    : clock_(clock),
      options_(options),
      committer_(options.file),
      history_(options.history),
      date_(clock.now(), committer_.latest_date().value_or(clock.wall())),
      next_prune_(clock.now() + options.prune_every),
      next_look_(clock.now()),
      events_(committer_.path(), options.file.vfs),
      thread_(clock, *this, {options.queue_max, options.records_per_commit_max, options.commits_apart}) {}

SqliteStore::~SqliteStore() {
    thread_.end();
}

RecoveredState SqliteStore::recover() {
    MUSTER_CHECK(!thread_.has_started(), "a store is recovered before it starts");
    return committer_.recover(kept());
}

PastMatches SqliteStore::latest_over(std::size_t limit) {
    MUSTER_CHECK(!thread_.has_started(), "its thread has the file from then on");
    return committer_.latest_over(limit);
}

void SqliteStore::start(OnOutcome on_outcome, OnFatal on_fatal) {
    thread_.start(std::move(on_outcome), std::move(on_fatal));
}

EventsFound SqliteStore::find_events(const EventSearch& search) {
    return events_.find(search);
}

StoreFigures SqliteStore::figures() const {
    StoreFigures figures = figures_.now();
    figures.queue_depth = thread_.unanswered();
    return figures;
}

void SqliteStore::keep_history(const HistoryLimits& limits) {
    {
        const std::lock_guard lock(mutex_);
        new_limits_ = limits;
    }
    thread_.wake();
}

Duration SqliteStore::patience() const {
    if (pruning_ || shrinking_) return Duration::zero();
    const bool awaits_idling = committer_.is_log_worth_emptying() || is_cache_to_be_released();
    return std::min<Duration>(awaits_idling ? options_.idle_after : options_.prune_every, look_every);
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

void SqliteStore::keep_up(bool idle) {
    {
        const std::lock_guard lock(mutex_);
        if (new_limits_) {
            history_ = *std::exchange(new_limits_, std::nullopt);
            pruning_ = shrinking_ = true;
        }
    }
    if (clock_.now() >= next_look_) look();
    prune();
    if (committer_.is_log_long()) {
        committer_.shorten_log();
    } else if (idle && !pruning_ && !shrinking_ && committer_.is_log_worth_emptying()) {
        committer_.empty_log();
    }
    if (idle && is_cache_to_be_released()) {
        committer_.release_cache();
        give_free_memory_back();
        next_release_ = clock_.now() + release_every;
    }
}

// The pages of a burst would stay among what is in use: 90 bytes a link with 10,000 of them.
bool SqliteStore::is_cache_to_be_released() const {
    return committer_.is_cache_large() && clock_.now() >= next_release_;
}

void SqliteStore::look() {
    next_look_ = clock_.now() + look_every;
    if (clock_.now() >= next_prune_) {
        next_prune_ = clock_.now() + options_.prune_every;
        pruning_ = true;
    }
    date_.observe(clock_.now(), clock_.wall());
    disk_ = disk_space(committer_.path());
    shrinking_ = true;
    figures_.measured(committer_.used_bytes(), disk_.free_bytes, committer_.misplaced());
}

// At least as much goes as came, so that a flood cannot outrun it. The size is not asked for after every commit: each
// time it takes and gives up a lock twice.
void SqliteStore::prune() {
    if (pruning_) pruning_ = committer_.prune_step(kept());
    if (!shrinking_ && written_ < History::rows_per_step_max) return;
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
void SqliteStore::close(Time by, bool hurried) {
    constexpr int commits_worth = 10;  // moving the log takes several syncs and writes all over the file
    if (!hurried && clock_.now() + commits_worth * last_commit_took_ <= by) {
        committer_.empty_log();
    } else {
        committer_.distrust();
    }
}

void SqliteStore::died() {
    committer_.distrust();
    events_.distrust();
    figures_.died();
}

KeptPast SqliteStore::kept() {
    return kept_of(history_, date_.observe(clock_.now(), clock_.wall()));
}

}  // namespace muster

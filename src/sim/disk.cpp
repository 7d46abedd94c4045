#include "sim/disk.h"

#include <algorithm>
#include <utility>

#include "store/kept_past.h"

namespace muster::sim {
namespace {

using namespace std::chrono_literals;

// As the store does: how often it looks at the date, and drops what is too old by it.
constexpr Duration date_look_every = 1s;
constexpr Duration disk_prune_every = 1min;

}  // namespace

Disk::Disk(Agenda& agenda, const Clock& clock, Random random, const DiskConditions& conditions, DiskWatcher& watcher)
    : agenda_(agenda), clock_(clock), random_(random), conditions_(conditions), watcher_(watcher) {}

RecoveredState Disk::open(OnOutcome on_outcome) {
    ++run_;
    last_failed_ = {};
    on_outcome_ = std::move(on_outcome);
    LastedDate lasted;
    const auto& events = fold_.events();
    for (auto event = events.end(); event != events.begin() && lasted.add((--event)->second.time);) {
    }
    date_.emplace(clock_.now(), lasted.date().value_or(clock_.wall()));
    next_prune_ = clock_.now() + disk_prune_every;
    agenda_.in(date_look_every, [this, run = run_] { look(run); });
    return fold_.recovered(kept_of(HistoryLimits{}, date_->observe(clock_.now(), clock_.wall())));
}

// The store's thread wakes by itself. A process that stands still does not look.
void Disk::look(std::uint64_t run) {
    if (run != run_) return;
    const Time stopped = watcher_.stopped_until();
    agenda_.at(std::max(clock_.now() + date_look_every, stopped), [this, run] { look(run); });
    if (stopped > clock_.now()) return;
    const UnixMs date = date_->observe(clock_.now(), clock_.wall());
    if (clock_.now() < next_prune_) return;
    next_prune_ = clock_.now() + disk_prune_every;
    fold_.prune(kept_of(HistoryLimits{}, date));
    watcher_.pruned(fold_.events());
}

bool Disk::submit(RecordBatch&& batch) {
    if (waiting_.size() >= conditions_.queue_max) return false;
    waiting_.push_back(std::move(batch));
    if (in_sync_ == 0) begin_sync();
    return true;
}

void Disk::begin_sync() {
    // Most of the time all that waits goes in one transaction; now and then it is too much for one.
    in_sync_ = waiting_.size();
    if (in_sync_ > 1 && random_.chance(0.2))
        in_sync_ = static_cast<std::size_t>(random_.between(1, static_cast<std::int64_t>(in_sync_)));
    plan_end();
}

void Disk::plan_end() {
    agenda_.in(sync_time(), [this, sync = ++sync_] { end_sync(sync); });
}

void Disk::set_conditions(const DiskConditions& conditions) {
    conditions_ = conditions;
    if (in_sync_ > 0) plan_end();
}

void Disk::end_sync(std::uint64_t sync) {
    if (sync != sync_ || in_sync_ == 0) return;
    if (const Time stopped = watcher_.stopped_until(); stopped > clock_.now())
        return agenda_.at(stopped, [this, sync] { end_sync(sync); });
    const std::uint64_t run = run_;
    const StoreFault fault = outcome_now(waiting_.front());
    if (!watcher_.step()) return;  // died just before the sync was through
    const std::size_t count = std::exchange(in_sync_, 0);
    std::deque<RecordBatch> group;
    for (std::size_t i = 0; i < count; ++i) {
        group.push_back(std::move(waiting_.front()));
        waiting_.pop_front();
    }
    if (fault == StoreFault::none) {
        for (const RecordBatch& batch : group) write(batch);
        if (!watcher_.step()) return;  // died just after it, before anybody was told
    }
    if (fault != StoreFault::none) last_failed_ = {group.back().number, fault};
    for (RecordBatch& batch : group) {
        if (fault == StoreFault::none) batch.records.clear();
        if (run == run_ && on_outcome_) on_outcome_({batch.number, fault, std::move(batch.records)});
    }
    if (run == run_ && !waiting_.empty() && in_sync_ == 0) begin_sync();
}

// Batches of one transaction follow one another: the first speaks for all.
StoreFault Disk::outcome_now(const RecordBatch& first) {
    if (const StoreFault before = last_failed_.fault_of(first); before != StoreFault::none) return before;
    if (full_) return StoreFault::full;
    return random_.chance(conditions_.fault) ? StoreFault::transient : StoreFault::none;
}

bool Disk::write(const RecordBatch& batch) {
    if (watcher_.forge(batch)) return false;
    fold_.apply(batch, clock_.wall());
    watcher_.durable(batch);
    return true;
}

Duration Disk::sync_time() {
    const Duration most = random_.chance(conditions_.slow) ? conditions_.slow_max : conditions_.sync_max;
    return Duration(random_.between(conditions_.sync_min.count(), std::max(conditions_.sync_min, most).count()));
}

void Disk::crash() {
    // The power went in the middle of the sync: the log's last transaction is whole, or it is not there. What follows a
    // batch that failed is never there.
    const bool may_be_through = in_sync_ > 0 && !full_ && last_failed_.fault_of(waiting_.front()) == StoreFault::none;
    const bool through = may_be_through && random_.chance(0.5);
    for (std::size_t i = 0; through && i < in_sync_; ++i) write(waiting_[i]);
    ++run_;
    on_outcome_ = nullptr;
    waiting_.clear();
    in_sync_ = 0;
}

void Disk::close() {
    for (const RecordBatch& batch : waiting_) {
        const StoreFault fault = full_ ? StoreFault::full : last_failed_.fault_of(batch);
        if (fault == StoreFault::none) {
            write(batch);
        } else {
            last_failed_ = {batch.number, fault};
        }
    }
    ++run_;
    on_outcome_ = nullptr;
    waiting_.clear();
    in_sync_ = 0;
}

}  // namespace muster::sim

#include "store/memory_store.h"

#include <utility>

#include "base/check.h"

namespace muster {

MemoryStore::MemoryStore(const Clock& clock, MemoryStoreOptions options) : clock_(clock), options_(options) {}

RecoveredState MemoryStore::recover() {
    return durable_.recovered(kept(clock_.wall()));
}

void MemoryStore::start(OnOutcome on_outcome, OnFatal on_fatal) {
    MUSTER_CHECK(!started_, "a store starts once, or once after each crash");
    started_ = true;
    on_outcome_ = std::move(on_outcome);
    on_fatal_ = std::move(on_fatal);
}

bool MemoryStore::submit(RecordBatch&& batch) {
    MUSTER_CHECK(started_, "batches come after start()");
    if (waiting_.size() >= options_.queue_max) return false;
    const Time now = clock_.now();
    std::optional<Time> due;
    if (options_.completion == Completion::delayed) due = now + options_.delay;
    waiting_.push_back({std::move(batch), now, due});
    // A batch that is handed over inside an outcome waits its turn here, one level up.
    if (options_.completion == Completion::at_once && !completing_) {
        completing_ = true;
        while (complete_next()) {
        }
        completing_ = false;
    }
    return true;
}

bool MemoryStore::stop(Duration) {
    bool written = true;
    while (!dead_ && !waiting_.empty()) {
        if (fault_ != StoreFault::none) written = false;
        complete_next();
    }
    started_ = false;
    return written && waiting_.empty();
}

EventsFound MemoryStore::find_events(const EventSearch& search) {
    EventWalk walk(search);
    const auto& events = durable_.events();
    if (search.towards == EventSearch::Towards::newer) {
        auto event = events.upper_bound(search.from);
        for (; event != events.end() && walk.wants_more(); ++event) walk.tell(RecordedEvent{event->second});
        if (event == events.end() && walk.wants_more()) walk.end();
    } else {
        auto event = events.lower_bound(search.from);
        while (event != events.begin() && walk.wants_more()) walk.tell(RecordedEvent{(--event)->second});
        if (event == events.begin() && walk.wants_more()) walk.end();
    }
    return walk.take();
}

StoreFigures MemoryStore::figures() const {
    StoreFigures figures = figures_.now();
    figures.queue_depth = waiting_.size();
    return figures;
}

void MemoryStore::set_completion(Completion completion, Duration delay) {
    options_.completion = completion;
    options_.delay = delay;
}

std::optional<Time> MemoryStore::next_due() const {
    return waiting_.empty() ? std::nullopt : waiting_.front().due;
}

bool MemoryStore::complete_next() {
    return complete_next(fault_);
}

bool MemoryStore::complete_next(StoreFault fault) {
    if (waiting_.empty() || dead_) return false;
    // The callback may hand over the next batch, so this one leaves the queue first.
    Waiting done = std::move(waiting_.front());
    waiting_.pop_front();
    if (const StoreFault before = last_failed_.fault_of(done.batch); before != StoreFault::none) fault = before;
    if (fault == StoreFault::none) {
        durable_.apply(done.batch, clock_.wall());
        figures_.committed(done.batch.records.size(), clock_.now() - done.handed_over);
        if (on_durable_) on_durable_(done.batch);
        done.batch.records.clear();
    } else {
        figures_.failed(fault);
        last_failed_ = {done.batch.number, fault};
    }
    if (on_outcome_) on_outcome_({done.batch.number, fault, std::move(done.batch.records)});
    return true;
}

std::size_t MemoryStore::complete_due(Time now) {
    std::size_t completed = 0;
    for (auto due = next_due(); due && *due <= now; due = next_due()) {
        if (!complete_next()) break;
        ++completed;
    }
    return completed;
}

void MemoryStore::die(const StoreError& error) {
    if (std::exchange(dead_, true)) return;
    figures_.died();
    if (on_fatal_) on_fatal_(error);
}

RecoveredState MemoryStore::crash(std::size_t written) {
    MUSTER_CHECK(written <= waiting_.size(), "only what was handed over can have been written");
    for (std::size_t i = 0; i < written; ++i) durable_.apply(waiting_[i].batch, clock_.wall());
    waiting_.clear();
    on_outcome_ = nullptr;
    on_fatal_ = nullptr;
    last_failed_ = {};
    started_ = false;
    dead_ = false;
    return recover();
}

void MemoryStore::prune(UnixMs now) {
    durable_.prune(kept(now));
}

KeptPast MemoryStore::kept(UnixMs now) const {
    const auto before = [now](Duration keep) {
        return UnixMs{now.value - std::chrono::duration_cast<std::chrono::milliseconds>(keep).count()};
    };
    return {before(options_.history_keep), before(options_.lobby_memory)};
}

}  // namespace muster

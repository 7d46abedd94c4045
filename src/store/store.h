// Where records become durable. The game thread hands over whole batches and goes on; outcomes come back as messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/time.h"
#include "core/event_search.h"
#include "core/records.h"
#include "store/history_limits.h"
#include "store/past_matches.h"

namespace muster {

// The store cannot be opened or went beyond repair. `exit_code` is what the process ends with: 65 for a damaged,
// foreign or newer file, 73 when another process holds it (fault 7), 74 when it cannot be made, opened, read, written
// or synced (fault 3).
class StoreError : public std::runtime_error {
public:
    StoreError(int code, const std::string& what) : std::runtime_error(what), exit_code(code) {}
    int exit_code;
};

// Figures for the metrics; all since the start.
struct StoreFigures {
    std::uint64_t commits = 0;
    std::uint64_t records = 0;
    std::uint64_t faults_full = 0;
    std::uint64_t faults_transient = 0;
    std::uint64_t faults_refused = 0;
    std::uint64_t faults_misplaced = 0;
    std::uint64_t faults_fatal = 0;
    std::uint64_t queue_depth = 0;  // batches handed over and not yet answered
    std::vector<std::uint64_t>
        commit_seconds_counts;  // histogram, cumulative, per bound of commit_seconds_bounds() and +Inf
    double commit_seconds_sum = 0;
    std::int64_t history_bytes = 0;  // what the store holds; the past is nearly all of it
    std::int64_t free_bytes = 0;     // on the store's disk; the greatest number: not known
    bool misplaced = false;          // the store's file was deleted or replaced under us
    bool away = false;               // the database does not answer
};

// The upper bounds of the commit histogram, in seconds.
const std::vector<double>& commit_seconds_bounds();

class Store {
public:
    // Called on the store's own thread, in batch order, once per batch.
    using OnOutcome = std::function<void(BatchOutcome)>;
    // The one tap for all who watch what is written: called on the store's own thread, in batch order, once per batch
    // that became durable, before its outcome.
    using OnDurable = std::function<void(const RecordBatch&)>;
    // Called once when the store is beyond repair; no outcome follows it.
    using OnFatal = std::function<void(const StoreError&)>;

    virtual ~Store() = default;

    // Reads what a start needs. Before start(), on the caller's thread.
    virtual RecoveredState recover() = 0;

    // The latest matches that are over, at most `limit`; none from a store that cannot tell. Before start(), on the
    // caller's thread.
    virtual PastMatches latest_over(std::size_t limit) {
        static_cast<void>(limit);
        return {};
    }

    // Who watches. Before start().
    virtual void on_durable(OnDurable on_durable) = 0;

    // Begins to take batches. The callbacks outlive the store.
    virtual void start(OnOutcome on_outcome, OnFatal on_fatal) = 0;

    // Hands a batch over and returns at once. False, and the batch untouched, when `queue_max` batches wait already.
    // A batch fails when the one that it follows failed.
    [[nodiscard]] virtual bool submit(RecordBatch&& batch) = 0;

    // Makes durable what was submitted, for at most `limit`, then stops its thread. True when everything was written.
    virtual bool stop(Duration limit) = 0;

    // The event history, as far as it is durable. Any thread.
    virtual EventsFound find_events(const EventSearch& search) = 0;
    // Up to `limit` events after `after_id`, newest last; and backwards before `before_id`, newest first.
    std::vector<EventRecord> events_after(std::int64_t after_id, std::size_t limit) {
        return find_events({EventSearch::Towards::newer, after_id, limit}).events;
    }
    std::vector<EventRecord> events_before(std::int64_t before_id, std::size_t limit) {
        return find_events({EventSearch::Towards::older, before_id, limit}).events;
    }

    // Any thread.
    virtual StoreFigures figures() const = 0;

    // Keeps so much of the past from now on; what is too old or too much goes at once. Any thread.
    virtual void keep_history(const HistoryLimits& limits) = 0;

    // Whether nobody knows what became of a batch: the database went away in its commit, and has to say (N-5). Whatever
    // is submitted meanwhile waits behind it. Any thread.
    virtual bool in_doubt() const { return false; }

    // Whether a promise that is durable may be answered now, and for so long from now on. Only a store that several
    // nodes share says no: after a gap in which another node could have taken over, until it has committed again (N-4).
    // Game thread.
    virtual bool may_answer([[maybe_unused]] Duration from_now) { return true; }
    // What is to leave at the end of a pass is asked for with this: it may leave then, too, unless the process is
    // stopped meanwhile.
    static constexpr std::chrono::milliseconds answer_margin{250};
};

}  // namespace muster

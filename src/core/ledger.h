// What core wants remembered, pass by pass, and which promises wait for it.
//
// Records written in a pass become one batch. A promise made in that pass is kept or broken when the store has answered
// for the batch. While the disk has no room, promises break at once and what must be written in any case waits here
// (X-4, fault 4).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "base/function.h"
#include "base/log.h"
#include "base/time.h"
#include "core/records.h"

namespace muster {

// Where batches go. The daemon's store implements it; outcomes come back by Ledger::outcome().
class BatchOutput {
public:
    virtual ~BatchOutput() = default;
    // Takes the batch and returns at once; false, and the batch untouched, when too many wait.
    [[nodiscard]] virtual bool submit(RecordBatch&& batch) = 0;
};

// Game thread only.
class Ledger {
public:
    // Told once: true when the records are durable, false when they are not and never will be.
    using Promise = Function<void(bool durable)>;

    // After a fault, the store is tried again this often.
    static constexpr std::chrono::milliseconds retry_every{500};
    // While the store is down at most this many records wait; beyond it the oldest events are dropped and counted.
    static constexpr std::size_t backlog_max = 200'000;

    Ledger(BatchOutput& output, Log& log) : output_(output), log_(log) {}

    // To be written whatever happens: again after a fault, until it works.
    void write(Record record);
    // To be written with a promise on it: a fault drops the record and breaks the promise.
    // The promise may be kept or broken in a later pass, never inside this call.
    void write_promised(Record record, Promise promise);

    // At the end of every pass: hands the pass's records over.
    void end_of_pass(Time now);
    // The store's word on a batch, in batch order.
    void outcome(Time now, const BatchOutcome& outcome);

    // Something waits to be tried again, or to be handed over: end_of_pass() wants to be called by then.
    bool waiting() const { return !backlog_.empty() || !present_.records.empty(); }

    // False from a fault until a batch is durable again.
    bool store_up() const { return store_up_; }
    // The store takes no more for now: new promises would wait too long (fault 5).
    bool congested() const { return congested_; }

    // Batches handed over and not answered.
    std::size_t in_flight() const { return in_flight_.size(); }
    std::uint64_t events_dropped() const { return events_dropped_; }

private:
    struct Entry {
        Record record;
        bool promised = false;
        std::uint64_t batch = 0;  // in the backlog: that it was in, or would have been in
    };
    struct Batch {
        std::vector<Entry> records;
        std::vector<Promise> promises;
        std::uint64_t number = 0;
        bool again = false;  // handed over before an earlier one failed: its records are written again after that one's
    };

    void hand_over(Time now);
    void keep_unpromised(std::vector<Entry>&& records, std::uint64_t batch);
    void tell(std::vector<Promise>&& promises, bool durable);
    void shorten_backlog();

    BatchOutput& output_;
    Log& log_;
    Batch present_;
    std::deque<Batch> in_flight_;
    std::vector<Entry> backlog_;  // of failed batches, by batch; never promised
    std::uint64_t next_number_ = 1;
    bool store_up_ = true;
    bool congested_ = false;
    Time retry_at_{};
    std::uint64_t events_dropped_ = 0;
};

}  // namespace muster

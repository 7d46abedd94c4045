// Collects each pass's records for the store, and the promises that wait for them to be durable.
//
// The records of a pass become one batch, which is moved to the store and never copied. A promise made in that pass is
// kept or broken when the store has answered for the batch. Whatever the disk does, memory and the work of a pass stay
// bounded (faults 4 and 5):
//
//   the store   | promises                  | state                       | events
//   takes all   | wait for their batch      | handed over at once         | handed over at once
//   congested   | wait, up to a bound       | waits for room              | wait, the oldest are dropped beyond a bound
//   down        | broken at once            | waits for the next attempt  | the same
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/function.h"
#include "base/log.h"
#include "base/time.h"
#include "core/records.h"
#include "core/store_pace.h"

namespace muster {

// Where batches go. The daemon's store implements it; outcomes come back by Ledger::outcome().
class BatchOutput {
public:
    virtual ~BatchOutput() = default;
    // Takes the batch and returns at once; false, and the batch untouched, when too many wait. A batch is not written
    // when the one that it follows was not.
    [[nodiscard]] virtual bool submit(RecordBatch&& batch) = 0;
    // Nobody knows yet what became of a batch, and whatever follows waits until that is known.
    virtual bool in_doubt() const { return false; }
    // Whether a promise may be answered now; if not, one that is about all that was written before shows that it may
    // (N-4).
    virtual bool may_answer() { return true; }
};

// What became of a record with a promise on it.
enum class Kept : std::uint8_t {
    durable,
    not_kept,  // and never will be
    anothers,  // not kept, since another cell has the lobby or the name (N-8)
};

// What may wait while it cannot be handed over. Beyond it the oldest events are dropped and counted, and the newest
// promises are broken. State is bounded by what there is in the game: of a server and of the clock only the latest
// waits, and what would make more of the rest is refused meanwhile.
struct LedgerLimits {
    std::size_t events_waiting = 50'000;
    std::size_t promises_waiting = 10'000;
    // With this many records handed over and not answered, the store is congested. A promise without a record counts
    // as one: it takes memory as well.
    std::size_t records_in_flight = 65'536;
};

// Game thread only.
class Ledger {
public:
    // Told once.
    using Promise = Function<void(Kept kept)>;

    // After a fault, the store is tried again this often.
    static constexpr std::chrono::milliseconds retry_every{500};
    // A batch takes whole passes up to about this many records; the rest goes with the next one.
    static constexpr std::size_t batch_max = 16'384;
    // With this many batches on their way, passes share the next one until it has `shared_min` records, or until the
    // store has answered: a quick loop never fills the store's queue with crumbs while its thread waits for the disk.
    static constexpr std::size_t batches_in_flight_max = 1'024;
    static constexpr std::size_t shared_min = 1'024;
    static constexpr std::size_t in_flight_max = LedgerLimits{}.records_in_flight;
    // With this much work on its way to the store, new promises are better refused (fault 66). A promise may take 100
    // ms in all, and the round that is under way must end first.
    static constexpr std::chrono::milliseconds work_max{60};
    // So few are no queue: what takes long about them is the disk's sync.
    static constexpr std::size_t few_records = 4'096;
    static constexpr std::size_t events_waiting_max = LedgerLimits{}.events_waiting;
    static constexpr std::size_t promises_waiting_max = LedgerLimits{}.promises_waiting;

    Ledger(BatchOutput& output, Log& log, const LedgerLimits& limits = {})
        : output_(output), log_(log), limits_(limits) {}

    // To be written whatever happens: again after a fault, until it works.
    void write(Record record);
    void write(const MatchRecord& match);  // as most are: copied once, to where it waits
    void write(EventRecord&& event) { events_.push_back(std::move(event)); }
    // To be written with a promise on it: a fault drops the record and breaks the promise.
    // The promise may be kept or broken in a later pass, never inside this call.
    void write_promised(Record record, Promise promise);
    // A promise without a record: kept when all that was written before, servers and the clock too, is durable.
    void promise_written(Promise promise);

    // At the end of every pass: hands the pass's records over.
    // Here and below, `now` is running time: the process standing still does not make the disk slow.
    void end_of_pass(Time now);
    // The store's word on a batch, in batch order.
    void outcome(Time now, BatchOutcome outcome);

    // Something waits to be tried again, or to be handed over: end_of_pass() wants to be called by then.
    bool waiting() const;

    // False from a fault until a batch is durable again, and while one is in doubt.
    bool store_up() const { return store_up_ && !output_.in_doubt(); }
    // What is promised already may be answered. If not, it may when a promise of now is kept.
    bool may_answer() const { return output_.may_answer(); }
    // Why it is not up; `none` while it is.
    StoreFault fault() const { return fault_; }
    // The store takes no more for now: new promises would wait too long (fault 5).
    bool congested() const { return congested_; }
    // The records that are on their way or wait are too much work for the store: a new promise would wait long, and
    // nothing is gained by it. By time, not by number: what a quick store takes in a moment is no overload, and what
    // piles up during a sync is none either, as long as it takes less time than the sync (store_pace.h). A record
    // counts by the rows that it takes.
    bool overloaded() const { return works_longer_than(1); }
    // Half of that. Lists of players are refused from here on, so that a flood of them leaves room for requests.
    bool half_loaded() const { return works_longer_than(0.5); }

    // Batches handed over and not answered.
    std::size_t in_flight() const { return in_flight_.size(); }
    // Records that wait here, and those handed over and not answered; and promises without one.
    std::size_t records_waiting() const;
    std::size_t records_in_flight() const { return records_in_flight_; }
    // Of those that wait here, the events and the promises.
    std::size_t events_waiting() const { return returned_events_ + events_.size(); }
    std::size_t promises_waiting() const { return promised_.size(); }
    const LedgerLimits& limits() const { return limits_; }
    std::uint64_t events_dropped() const { return events_dropped_; }

private:
    struct Promised {
        Promise promise;
        std::size_t place = 0;    // of its record; of one about all those before it, how many these are
        bool has_record = false;  // if not, it is one about those before it
    };
    // How much waited at the end of a pass.
    struct PassEnd {
        std::size_t records = 0;
        std::size_t promises = 0;
        friend bool operator==(const PassEnd&, const PassEnd&) = default;
    };
    // A batch without its records: those are the store's until it has answered.
    struct Sent {
        std::uint64_t number = 0;
        std::size_t size = 0;  // in records, and promises without one
        std::size_t rows = 0;
        std::vector<Promised> promises;  // in the order of their places in the batch
    };
    struct Made {
        RecordBatch batch;
        Sent sent;
    };

    bool works_longer_than(double part) const;
    void make_room();
    void end_pass_here();
    bool hand_over(Time now);
    Made make_batch();
    void add_waiting(Made& made);
    void add_passes(Made& made);
    void failed(BatchOutcome&& outcome, Sent&& sent);
    static void tell_promises(Sent&& sent, const std::vector<std::size_t>& anothers);
    static std::vector<Record> without_promised(std::vector<Record>&& records, std::span<const Promised> promises);
    void break_promises();
    void drop_events();
    void drop_returned_events(std::size_t& excess);

    BatchOutput& output_;
    Log& log_;
    const LedgerLimits limits_;

    // What waits, in the order in which it is handed over: batches that failed, what is keyed, state, events.
    std::deque<std::vector<Record>> returned_;  // oldest first
    std::size_t returned_records_ = 0;
    std::size_t returned_events_ = 0;
    std::map<ServerId, ServerRecord> servers_;
    std::optional<ClockRecord> clock_;
    std::vector<Record> state_;       // nearly always it becomes the batch, as it is
    std::vector<Promised> promised_;  // about state_, in the order of their places
    std::size_t promised_alone_ = 0;  // of them, those without a record
    std::vector<PassEnd> pass_ends_;  // of state_, oldest first
    std::size_t rows_waiting_ = 0;    // of state_
    std::size_t usual_records_ = 0;   // of the last batch
    std::deque<EventRecord> events_;

    std::optional<Made> refused_;  // made, and not taken by the store yet
    std::deque<Sent> in_flight_;
    std::size_t records_in_flight_ = 0;
    std::size_t rows_in_flight_ = 0;
    std::size_t failed_in_row_ = 0;  // batches that came back so far, of those in flight when the store failed
    std::uint64_t next_number_ = 1;
    bool store_up_ = true;
    StoreFault fault_ = StoreFault::none;
    bool congested_ = false;
    StorePace pace_;
    Time retry_at_{};
    std::uint64_t events_dropped_ = 0;
};

}  // namespace muster

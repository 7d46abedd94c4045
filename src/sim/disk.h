// The store under virtual time: it takes its while, has no room, fails, and loses at a crash what was not yet durable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>

#include "base/random.h"
#include "core/ledger.h"
#include "core/records.h"
#include "sim/agenda.h"
#include "sim/scenario.h"
#include "store/latest_state.h"
#include "store/settled_date.h"

namespace muster::sim {

// Hears what really is on the disk, and when.
class DiskWatcher {
public:
    virtual ~DiskWatcher() = default;
    // All of the batch became durable in this moment.
    virtual void durable(const RecordBatch& batch) = 0;
    // The history was pruned by the date; these events are left.
    virtual void pruned(const std::map<std::int64_t, EventRecord>& events) = 0;
    // The process, and the store's thread with it, stands still until then; in the past when it does not.
    virtual Time stopped_until() const = 0;
    // A step at which the machine may die: false when it did, and nothing more happens.
    virtual bool step() = 0;
    // True when the batch shall be answered as durable without being so: a store that lies, for tests of the judges.
    virtual bool forge(const RecordBatch& batch) = 0;
};

// Batches that wait together are one transaction: all of them become durable, in order, or none (group commit). One
// thread. All it is given outlives it.
class Disk final : public BatchOutput {
public:
    using OnOutcome = std::function<void(BatchOutcome)>;

    Disk(Agenda& agenda, const Clock& clock, Random random, const DiskConditions& conditions, DiskWatcher& watcher);

    [[nodiscard]] bool submit(RecordBatch&& batch) override;

    // A run of Muster begins: what it finds, and where it hears of its batches.
    RecoveredState open(OnOutcome on_outcome);
    // It is gone. The transaction under way is whole or not at all; what waits behind it is lost.
    void crash();
    // It ends in order: what waits is written at once, unless there is no room.
    void close();

    // A sync under way takes as long as the new conditions say.
    void set_conditions(const DiskConditions& conditions);
    void set_full(bool full) { full_ = full; }
    std::size_t waiting() const { return waiting_.size(); }

private:
    void look(std::uint64_t run);
    void begin_sync();
    void plan_end();
    void end_sync(std::uint64_t sync);
    StoreFault outcome_now(const RecordBatch& first);
    bool write(const RecordBatch& batch);
    Duration sync_time();

    Agenda& agenda_;
    const Clock& clock_;
    Random random_;
    DiskConditions conditions_;
    DiskWatcher& watcher_;
    LatestState fold_;
    std::optional<SettledDate> date_;  // by which the past is old, in this run
    Time next_prune_{};
    OnOutcome on_outcome_;
    std::deque<RecordBatch> waiting_;
    std::size_t in_sync_ = 0;  // of them, how many are in the transaction under way
    std::uint64_t run_ = 0;
    std::uint64_t sync_ = 0;  // the one under way; grows with each, and when its end is put off
    bool full_ = false;
    FailedBatch last_failed_;
};

}  // namespace muster::sim

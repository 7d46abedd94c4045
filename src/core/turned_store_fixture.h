// A store without a disk, for tests of core: it answers when it is told to, and fails as it is told.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "core/ledger.h"
#include "core/records.h"

namespace muster::testing {

// Its user gives core the outcome of each batch that waits, unless it is holding.
class TurnedStore final : public BatchOutput {
public:
    bool submit(RecordBatch&& batch) override {
        if (waiting.size() >= room) return false;
        waiting.push_back(std::move(batch));
        return true;
    }
    // The oldest batch is durable, or fails as `fault` says.
    BatchOutcome answer_next() {
        RecordBatch batch = std::move(waiting.front());
        waiting.pop_front();
        const StoreFault before = failed_.fault_of(batch);
        const StoreFault now = before == StoreFault::none ? fault : before;
        if (now != StoreFault::none) {
            failed_ = {batch.number, now};
            return {batch.number, now, std::move(batch.records)};
        }
        BatchOutcome outcome{batch.number, now};
        for (std::size_t i = 0; i < batch.records.size(); ++i) {
            const auto* match = std::get_if<MatchRecord>(&batch.records[i]);
            if (match && match->lobby == anothers)
                outcome.anothers.push_back(i);
            else
                durable.push_back(std::move(batch.records[i]));
        }
        return outcome;
    }

    bool in_doubt() const override { return doubt; }
    bool may_answer() override { return !window_shut; }

    bool doubt = false;                   // nobody knows what became of a batch
    bool window_shut = false;             // another node may have taken over
    bool holding = false;                 // answers wait for commit()
    StoreFault fault = StoreFault::none;  // what the next outcomes are
    std::size_t room = 1'000;
    std::optional<LobbyId> anothers;  // this lobby is another cell's
    std::deque<RecordBatch> waiting;
    std::vector<Record> durable;  // in commit order

private:
    FailedBatch failed_;
};

}  // namespace muster::testing

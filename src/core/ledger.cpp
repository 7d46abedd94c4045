#include "core/ledger.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include "base/check.h"

namespace muster {
namespace {

std::string_view to_string(StoreFault fault) {
    return fault == StoreFault::full ? "no room on the disk" : "busy";
}

}  // namespace

void Ledger::write(Record record) {
    present_.records.push_back({std::move(record), false});
}

void Ledger::write_promised(Record record, Promise promise) {
    present_.records.push_back({std::move(record), true});
    present_.promises.push_back(std::move(promise));
}

void Ledger::end_of_pass(Time now) {
    if (!store_up_ && now < retry_at_) {
        // Known to fail: break the promises now rather than after another full disk.
        if (present_.records.empty()) return;
        Batch failed = std::exchange(present_, {});
        keep_unpromised(std::move(failed.records), next_number_);
        tell(std::move(failed.promises), false);
        return;
    }
    // While the store is down one batch at a time tries its luck.
    if (!store_up_ && !in_flight_.empty()) return;
    if (waiting()) hand_over(now);
}

void Ledger::hand_over(Time now) {
    Batch batch = std::exchange(present_, {});
    batch.records.insert(batch.records.begin(), std::make_move_iterator(backlog_.begin()),
                         std::make_move_iterator(backlog_.end()));
    backlog_.clear();

    batch.number = next_number_;
    RecordBatch out{batch.number, {}};
    out.records.reserve(batch.records.size());
    for (const Entry& entry : batch.records) out.records.push_back(entry.record);
    congested_ = !output_.submit(std::move(out));
    if (congested_) {
        present_ = std::move(batch);  // goes with the next pass's
        return;
    }
    ++next_number_;
    retry_at_ = now + retry_every;
    in_flight_.push_back(std::move(batch));
}

void Ledger::outcome(Time now, const BatchOutcome& outcome) {
    MUSTER_CHECK(!in_flight_.empty() && in_flight_.front().number == outcome.number, "outcomes come in batch order");
    Batch batch = std::move(in_flight_.front());
    in_flight_.pop_front();
    congested_ = false;

    const bool durable = outcome.fault == StoreFault::none;
    if (durable && !store_up_ && !batch.again) {
        store_up_ = true;
        log_.info("The store works again");
    }
    if (!durable) {
        if (store_up_) log_.error("The store does not take records: {}", to_string(outcome.fault));
        store_up_ = false;
        retry_at_ = now + retry_every;
        // A newer state must not be overwritten by an older one that is written late: write the newer ones again too.
        for (Batch& later : in_flight_) later.again = true;
    }
    if (batch.again && durable) {
        for (Entry& entry : batch.records) entry.promised = false;
    }
    if (!durable || batch.again) keep_unpromised(std::move(batch.records), batch.number);
    tell(std::move(batch.promises), durable);
}

// While a batch was on its way, newer records may have come to wait here: its own belong before them.
void Ledger::keep_unpromised(std::vector<Entry>&& records, std::uint64_t batch) {
    std::erase_if(records, [](const Entry& entry) { return entry.promised; });
    for (Entry& entry : records) entry.batch = batch;
    const auto newer = std::upper_bound(backlog_.begin(), backlog_.end(), batch,
                                        [](std::uint64_t number, const Entry& entry) { return number < entry.batch; });
    backlog_.insert(newer, std::make_move_iterator(records.begin()), std::make_move_iterator(records.end()));
    if (backlog_.size() > backlog_max) shorten_backlog();
}

void Ledger::tell(std::vector<Promise>&& promises, bool durable) {
    for (Promise& promise : promises) promise(durable);
}

void Ledger::shorten_backlog() {
    std::size_t excess = backlog_.size() - backlog_max;
    const auto is_spare = [&excess](const Entry& entry) {
        if (excess == 0 || !std::holds_alternative<EventRecord>(entry.record)) return false;
        --excess;
        return true;
    };
    const auto kept = std::remove_if(backlog_.begin(), backlog_.end(), is_spare);
    events_dropped_ += static_cast<std::uint64_t>(std::distance(kept, backlog_.end()));
    backlog_.erase(kept, backlog_.end());
}

}  // namespace muster

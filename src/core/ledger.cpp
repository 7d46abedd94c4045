#include "core/ledger.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include "base/check.h"
#include "base/planted.h"

namespace muster {
namespace {

std::string_view to_string(StoreFault fault) {
    switch (fault) {
        case StoreFault::full:
            return "no room on the disk";
        case StoreFault::misplaced:
            return "its file was deleted or replaced; put it back, or restart Muster";
        case StoreFault::refused:
            return "the database refuses them: a right or a table of Muster's was taken away; its log names it";
        case StoreFault::none:
        case StoreFault::transient:
            break;
    }
    return "busy";
}

// Memory for so many entries is kept from pass to pass.
constexpr std::size_t spare_entries_max = 1'024;

bool is_event(const Record& record) {
    return std::holds_alternative<EventRecord>(record);
}

// What it takes in a table. Of most records that is one row at the most; only a list of players has many.
std::size_t rows_of(const Record& record) {
    const auto* list = std::get_if<PlayersRecord>(&record);
    return 1 + (list ? list->accounts.size() : 0);
}

}  // namespace

void Ledger::write(Record record) {
    if (auto* event = std::get_if<EventRecord>(&record)) {
        write(std::move(*event));
    } else if (const auto* clock = std::get_if<ClockRecord>(&record)) {
        clock_ = *clock;
    } else if (auto* server = std::get_if<ServerRecord>(&record)) {
        servers_.insert_or_assign(server->id, std::move(*server));
    } else {
        if (const auto* removed = std::get_if<ServerRemoved>(&record)) servers_.erase(removed->id);
        keep(std::move(record), {});
    }
}

void Ledger::write_promised(Record record, Promise promise) {
    keep(std::move(record), std::move(promise));
    ++promises_waiting_;
}

void Ledger::keep(Record&& record, Promise&& promise) {
    rows_waiting_ += rows_of(record);
    state_.emplace_back(std::move(record), std::move(promise));
}

void Ledger::promise_written(Promise promise) {
    state_.emplace_back(std::move(promise));
    ++promises_waiting_;
}

bool Ledger::waiting() const {
    return records_waiting() > 0;
}

std::size_t Ledger::records_waiting() const {
    return returned_records_ + servers_.size() + (clock_ ? 1 : 0) + state_.size() + events_.size() +
           (refused_ ? refused_->sent.size : 0);
}

bool Ledger::works_longer_than(double part) const {
    const std::size_t waiting = records_waiting() - state_.size() + rows_waiting_;
    const std::size_t ahead = rows_in_flight_ + waiting;
    const Duration most = std::max<Duration>(work_max, pace_.sync() * 3 / 4);
    return ahead > few_records && to_seconds(pace_.work_of(ahead)) > part * to_seconds(most);
}

void Ledger::end_of_pass(Time now) {
    if (!state_.empty()) state_.back().ends_pass = true;
    // Known to fail: the promises break now rather than after another full disk.
    if (!store_up_) break_promises();
    // While the store is down one batch at a time tries its luck.
    const bool may_try = store_up_ || (now >= retry_at_ && in_flight_.empty());
    while (may_try && hand_over(now) && store_up_) {
    }
    if (planted(Bug::congested_ledger_grows) && congested_) return static_cast<void>(events_ = std::deque(events_));
    if (promises_waiting_ > limits_.promises_waiting) break_promises();
    drop_events();
}

// False when nothing is left, or no more is taken.
bool Ledger::hand_over(Time now) {
    if (!waiting()) return false;
    if (in_flight_.size() >= batches_in_flight_max && records_waiting() < shared_min) return false;
    congested_ = records_in_flight_ >= limits_.records_in_flight;
    if (congested_) return false;
    if (!refused_) refused_ = make_batch();
    refused_->batch.follows = in_flight_.empty() ? 0 : in_flight_.back().number;
    congested_ = !output_.submit(std::move(refused_->batch));
    if (congested_) return false;
    ++next_number_;
    retry_at_ = now + retry_every;
    pace_.handed_over(now, in_flight_.empty());
    records_in_flight_ += refused_->sent.size;
    rows_in_flight_ += refused_->sent.rows;
    in_flight_.push_back(std::move(refused_->sent));
    refused_.reset();
    return true;
}

Ledger::Made Ledger::make_batch() {
    Made made;
    std::vector<Record>& records = made.batch.records;
    while (!returned_.empty() && (records.empty() || records.size() + returned_.front().size() <= batch_max)) {
        std::vector<Record> unit = std::move(returned_.front());
        returned_.pop_front();
        returned_records_ -= unit.size();
        returned_events_ -= static_cast<std::size_t>(std::count_if(unit.begin(), unit.end(), is_event));
        if (records.empty()) {
            records = std::move(unit);
        } else {
            records.insert(records.end(), std::make_move_iterator(unit.begin()), std::make_move_iterator(unit.end()));
        }
    }
    // Nothing newer goes before what failed.
    if (returned_.empty()) add_waiting(made);
    made.batch.number = made.sent.number = next_number_;
    const std::size_t without_record = made.sent.promises.size() - made.sent.promised.size();
    made.sent.size = records.size() + without_record;
    for (const Record& record : records) made.sent.rows += rows_of(record);
    return made;
}

void Ledger::add_waiting(Made& made) {
    std::vector<Record>& records = made.batch.records;
    records.reserve(std::min(batch_max, records.size() + servers_.size() + 1 + state_.size() + events_.size()));
    for (auto& [id, server] : servers_) records.emplace_back(std::move(server));
    servers_.clear();
    if (clock_) records.emplace_back(*std::exchange(clock_, std::nullopt));
    auto next = state_.begin();
    for (bool pass_ended = true; next != state_.end() && (records.size() < batch_max || !pass_ended); ++next) {
        Entry& entry = *next;
        pass_ended = entry.ends_pass;
        if (entry.promise) {
            if (entry.record) made.sent.promised.push_back(records.size());
            made.sent.promises.push_back(std::move(entry.promise));
            made.sent.has_record.push_back(entry.record.has_value());
            --promises_waiting_;
        }
        if (entry.record) {
            rows_waiting_ -= rows_of(*entry.record);
            records.push_back(std::move(*entry.record));
        }
    }
    state_.erase(state_.begin(), next);
    if (state_.empty() && state_.capacity() > spare_entries_max)
        std::vector<Entry>().swap(state_);  // after a jam, not after a busy pass
    while (!events_.empty() && records.size() < batch_max) {
        records.emplace_back(std::move(events_.front()));
        events_.pop_front();
    }
}

void Ledger::outcome(Time now, BatchOutcome outcome) {
    MUSTER_CHECK(!in_flight_.empty() && in_flight_.front().number == outcome.number, "outcomes come in batch order");
    Sent sent = std::move(in_flight_.front());
    in_flight_.pop_front();
    records_in_flight_ -= sent.size;
    rows_in_flight_ -= sent.rows;
    congested_ = false;
    pace_.answered(now, sent.rows);

    if (outcome.fault != StoreFault::none) {
        if (store_up_) log_.error("The store does not take records: {}", to_string(outcome.fault));
        store_up_ = false;
        fault_ = outcome.fault;
        retry_at_ = now + retry_every;
        return failed(std::move(outcome), std::move(sent));
    }
    MUSTER_CHECK(failed_in_row_ == 0, "what follows a failed batch fails too");
    if (!std::exchange(store_up_, true)) log_.info("The store works again");
    fault_ = StoreFault::none;
    tell_promises(std::move(sent), outcome.anothers);
}

void Ledger::tell_promises(Sent&& sent, const std::vector<std::size_t>& anothers) {
    auto place = sent.promised.begin();
    for (std::size_t i = 0; i < sent.promises.size(); ++i) {
        const bool is_anothers = sent.has_record[i] && std::ranges::binary_search(anothers, *place++);
        sent.promises[i](is_anothers ? Kept::anothers : Kept::durable);
    }
}

// Batches that were on their way when one failed fail behind it, in order, and come before all that is newer.
void Ledger::failed(BatchOutcome&& outcome, Sent&& sent) {
    std::vector<Promise> broken = std::move(sent.promises);
    const auto keep = [this](std::vector<Record>&& records, std::size_t place) {
        if (records.empty()) return;
        returned_records_ += records.size();
        returned_events_ += static_cast<std::size_t>(std::count_if(records.begin(), records.end(), is_event));
        returned_.insert(returned_.begin() + static_cast<std::ptrdiff_t>(std::min(place, returned_.size())),
                         std::move(records));
    };
    if (refused_) {
        Made made = std::move(*std::exchange(refused_, std::nullopt));
        keep(without_promised(std::move(made.batch.records), made.sent), 0);
        std::move(made.sent.promises.begin(), made.sent.promises.end(), std::back_inserter(broken));
    }
    const std::size_t before = returned_.size();
    keep(without_promised(std::move(outcome.records), sent), failed_in_row_);
    failed_in_row_ += returned_.size() - before;
    if (in_flight_.empty()) failed_in_row_ = 0;
    for (Promise& promise : broken) promise(Kept::not_kept);
}

std::vector<Record> Ledger::without_promised(std::vector<Record>&& records, const Sent& sent) {
    if (sent.promised.empty()) return std::move(records);
    std::vector<Record> kept;
    kept.reserve(records.size());
    auto promised = sent.promised.begin();
    for (std::size_t i = 0; i < records.size(); ++i) {
        if (promised != sent.promised.end() && *promised == i) {
            ++promised;
        } else {
            kept.push_back(std::move(records[i]));
        }
    }
    return kept;
}

// Those that may not wait: all of them while the store is down, else the newest beyond the bound.
void Ledger::break_promises() {
    const std::size_t kept_max = store_up_ ? limits_.promises_waiting : 0;
    std::vector<Promise> broken;
    auto first = state_.end();
    for (std::size_t excess = promises_waiting_ - std::min(promises_waiting_, kept_max); excess > 0;) {
        if ((--first)->promise) --excess;
    }
    const auto kept = std::remove_if(first, state_.end(), [&](Entry& entry) {
        if (!entry.promise) return false;
        if (entry.record) rows_waiting_ -= rows_of(*entry.record);
        broken.push_back(std::move(entry.promise));
        return true;
    });
    state_.erase(kept, state_.end());
    if (!state_.empty()) state_.back().ends_pass = true;
    promises_waiting_ -= broken.size();
    for (Promise& promise : broken) promise(Kept::not_kept);
}

void Ledger::drop_events() {
    if (events_waiting() <= limits_.events_waiting) return;
    std::size_t excess = events_waiting() - limits_.events_waiting;
    events_dropped_ += excess;
    drop_returned_events(excess);
    events_.erase(events_.begin(), events_.begin() + static_cast<std::ptrdiff_t>(excess));
}

void Ledger::drop_returned_events(std::size_t& excess) {
    for (auto unit = returned_.begin(); unit != returned_.end() && excess > 0 && returned_events_ > 0; ++unit) {
        const std::size_t dropped = std::erase_if(*unit, [&excess](const Record& record) {
            if (excess == 0 || !is_event(record)) return false;
            --excess;
            return true;
        });
        returned_events_ -= dropped;
        returned_records_ -= dropped;
    }
    // Batches that are still to fail come behind those of their row that are left.
    const auto row_end = returned_.begin() + static_cast<std::ptrdiff_t>(std::min(failed_in_row_, returned_.size()));
    const auto is_empty = [](const std::vector<Record>& unit) { return unit.empty(); };
    failed_in_row_ -= static_cast<std::size_t>(std::count_if(returned_.begin(), row_end, is_empty));
    std::erase_if(returned_, is_empty);
}

}  // namespace muster

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
        make_room();
        rows_waiting_ += rows_of(record);
        state_.push_back(std::move(record));
    }
}

void Ledger::write(const MatchRecord& match) {
    make_room();
    state_.emplace_back(match);
    ++rows_waiting_;
}

void Ledger::write_promised(Record record, Promise promise) {
    make_room();
    rows_waiting_ += rows_of(record);
    promised_.push_back({std::move(promise), state_.size(), true});
    state_.push_back(std::move(record));
}

void Ledger::promise_written(Promise promise) {
    promised_.push_back({std::move(promise), state_.size(), false});
    ++promised_alone_;
}

// For as many as there were in the last batch, events and all: a busy loop's batches are about as large as one another,
// and its memory went to the store with the last one.
void Ledger::make_room() {
    if (state_.capacity() == 0) state_.reserve(std::min(batch_max, usual_records_ + usual_records_ / 4));
}

bool Ledger::waiting() const {
    return records_waiting() > 0;
}

std::size_t Ledger::records_waiting() const {
    return returned_records_ + servers_.size() + (clock_ ? 1 : 0) + state_.size() + promised_alone_ + events_.size() +
           (refused_ ? refused_->sent.size : 0);
}

bool Ledger::works_longer_than(double part) const {
    const std::size_t waiting = records_waiting() - state_.size() - promised_alone_ + rows_waiting_;
    const std::size_t ahead = rows_in_flight_ + waiting;
    const Duration most = std::max<Duration>(work_max, pace_.sync() * 3 / 4);
    return ahead > few_records && to_seconds(pace_.work_of(ahead)) > part * to_seconds(most);
}

void Ledger::end_of_pass(Time now) {
    end_pass_here();
    // Known to fail: the promises break now rather than after another full disk.
    if (!store_up_) break_promises();
    // While the store is down one batch at a time tries its luck.
    const bool may_try = store_up_ || (now >= retry_at_ && in_flight_.empty());
    while (may_try && hand_over(now) && store_up_) {
    }
    if (planted(Bug::congested_ledger_grows) && congested_) return static_cast<void>(events_ = std::deque(events_));
    if (promises_waiting() > limits_.promises_waiting) break_promises();
    drop_events();
}

void Ledger::end_pass_here() {
    const PassEnd end{state_.size(), promised_.size()};
    if (end != (pass_ends_.empty() ? PassEnd{} : pass_ends_.back())) pass_ends_.push_back(end);
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
    made.sent.size += records.size();
    for (const Record& record : records) made.sent.rows += rows_of(record);
    usual_records_ = records.size();
    return made;
}

void Ledger::add_waiting(Made& made) {
    std::vector<Record>& records = made.batch.records;
    for (auto& [id, server] : servers_) records.emplace_back(std::move(server));
    servers_.clear();
    if (clock_) records.emplace_back(*std::exchange(clock_, std::nullopt));
    add_passes(made);
    records.reserve(std::min(batch_max, records.size() + events_.size()));
    while (!events_.empty() && records.size() < batch_max) {
        records.emplace_back(std::move(events_.front()));
        events_.pop_front();
    }
}

// Whole passes, until there are enough records.
void Ledger::add_passes(Made& made) {
    end_pass_here();  // promises that were broken since may have written something
    std::vector<Record>& records = made.batch.records;
    const std::size_t before = records.size();
    PassEnd taken;
    auto next = pass_ends_.begin();
    for (; next != pass_ends_.end() && before + taken.records < batch_max; ++next) taken = *next;

    const auto records_end = state_.begin() + static_cast<std::ptrdiff_t>(taken.records);
    const auto promises_end = promised_.begin() + static_cast<std::ptrdiff_t>(taken.promises);
    for (auto record = state_.begin(); record != records_end; ++record) rows_waiting_ -= rows_of(*record);
    std::size_t alone = 0;
    made.sent.promises.reserve(taken.promises);
    for (auto promised = promised_.begin(); promised != promises_end; ++promised) {
        alone += promised->has_record ? 0 : 1;
        made.sent.promises.push_back({std::move(promised->promise), before + promised->place, promised->has_record});
    }
    made.sent.size += alone;
    promised_alone_ -= alone;
    promised_.erase(promised_.begin(), promises_end);
    if (records.empty() && records_end == state_.end()) {
        records.swap(state_);
    } else {
        records.insert(records.end(), std::make_move_iterator(state_.begin()), std::make_move_iterator(records_end));
        state_.erase(state_.begin(), records_end);
    }

    pass_ends_.erase(pass_ends_.begin(), next);
    for (Promised& left : promised_) left.place -= taken.records;
    for (PassEnd& left : pass_ends_) left = {left.records - taken.records, left.promises - taken.promises};
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
    for (Promised& promised : sent.promises) {
        const bool is_anothers = promised.has_record && std::ranges::binary_search(anothers, promised.place);
        promised.promise(is_anothers ? Kept::anothers : Kept::durable);
    }
}

// Batches that were on their way when one failed fail behind it, in order, and come before all that is newer.
void Ledger::failed(BatchOutcome&& outcome, Sent&& sent) {
    std::vector<Promised> broken = std::move(sent.promises);
    const std::size_t of_this = broken.size();
    const auto keep = [this](std::vector<Record>&& records, std::size_t place) {
        if (records.empty()) return;
        returned_records_ += records.size();
        returned_events_ += static_cast<std::size_t>(std::count_if(records.begin(), records.end(), is_event));
        returned_.insert(returned_.begin() + static_cast<std::ptrdiff_t>(std::min(place, returned_.size())),
                         std::move(records));
    };
    if (refused_) {
        Made made = std::move(*std::exchange(refused_, std::nullopt));
        keep(without_promised(std::move(made.batch.records), made.sent.promises), 0);
        std::move(made.sent.promises.begin(), made.sent.promises.end(), std::back_inserter(broken));
    }
    const std::size_t before = returned_.size();
    keep(without_promised(std::move(outcome.records), std::span(broken).first(of_this)), failed_in_row_);
    failed_in_row_ += returned_.size() - before;
    if (in_flight_.empty()) failed_in_row_ = 0;
    for (Promised& one : broken) one.promise(Kept::not_kept);
}

std::vector<Record> Ledger::without_promised(std::vector<Record>&& records, std::span<const Promised> promises) {
    if (promises.empty()) return std::move(records);
    std::vector<Record> kept = std::move(records);
    auto promised = promises.begin();
    std::size_t end = promised->place;
    for (std::size_t place = end; place < kept.size(); ++place) {
        while (promised != promises.end() && (promised->place < place || !promised->has_record)) ++promised;
        if (promised != promises.end() && promised->place == place) continue;
        if (end != place) kept[end] = std::move(kept[place]);
        ++end;
    }
    kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(end), kept.end());
    return kept;
}

// Those that may not wait: all of them while the store is down, else the newest beyond the bound.
void Ledger::break_promises() {
    const std::size_t kept = std::min(promised_.size(), store_up_ ? limits_.promises_waiting : 0);
    const auto first = promised_.begin() + static_cast<std::ptrdiff_t>(kept);
    std::vector<Promised> broken(std::make_move_iterator(first), std::make_move_iterator(promised_.end()));
    promised_.erase(first, promised_.end());

    // Their records go, too, so the passes that they were in have fewer.
    std::size_t gone = 0;
    auto next = broken.begin();
    for (PassEnd& end : pass_ends_) {
        for (; next != broken.end() && next->place < end.records; ++next) gone += next->has_record ? 1 : 0;
        end = {end.records - gone, std::min(end.promises, kept)};
    }
    for (const Promised& one : broken) {
        if (one.has_record) rows_waiting_ -= rows_of(state_[one.place]);
        if (!one.has_record) --promised_alone_;
    }
    state_ = without_promised(std::move(state_), broken);
    for (Promised& one : broken) one.promise(Kept::not_kept);
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

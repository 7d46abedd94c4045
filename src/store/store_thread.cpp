#include "store/store_thread.h"

#include <utility>

#include "base/check.h"
#include "base/thread_name.h"

namespace muster {

void StoreThread::start(Store::OnOutcome on_outcome, Store::OnFatal on_fatal) {
    MUSTER_CHECK(!thread_.joinable() && !has_ended_, "a store starts once");
    on_outcome_ = std::move(on_outcome);
    on_fatal_ = std::move(on_fatal);
    thread_ = std::thread([this] { run(); });
}

bool StoreThread::submit(RecordBatch&& batch) {
    bool resting = false;
    {
        const std::lock_guard lock(mutex_);
        if (dead_ || stopping_ || unanswered_ >= limits_.queue_max) return false;
        waiting_.push_back(std::move(batch));
        ++unanswered_;
        resting = resting_;
    }
    if (!resting) work_.notify_one();
    return true;
}

bool StoreThread::stop(Duration limit) {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    stop_by_ = clock_.now() + limit;
    work_.notify_one();
    if (thread_.joinable()) {
        ended_.wait_for(lock, limit, [&] { return has_ended_; });
        abandoned_ = true;
    }
    const bool written = unanswered_ == 0 && !failed_ && !dead_;
    const bool ended = has_ended_;
    lock.unlock();
    if (ended && thread_.joinable()) thread_.join();
    return written;
}

void StoreThread::end() {
    {
        const std::lock_guard lock(mutex_);
        abandoned_ = true;
    }
    work_.notify_one();
    if (thread_.joinable()) thread_.join();
}

void StoreThread::wake() {
    {
        const std::lock_guard lock(mutex_);
        woken_ = true;
    }
    work_.notify_one();
}

std::size_t StoreThread::unanswered() const {
    const std::lock_guard lock(mutex_);
    return unanswered_;
}

bool StoreThread::abandoned() const {
    const std::lock_guard lock(mutex_);
    return abandoned_;
}

void StoreThread::run() {
    name_this_thread("store");
    try {
        std::vector<RecordBatch> taken;
        for (Turn turn = wait(taken); turn != Turn::end; turn = wait(taken)) {
            write(taken);
            engine_.keep_up(turn == Turn::idle);
        }
        close();
    } catch (const StoreError& error) {
        engine_.died();
        {
            const std::lock_guard lock(mutex_);
            dead_ = true;
        }
        // Whoever abandoned the store does not want to hear of it.
        if (on_fatal_ && !abandoned()) on_fatal_(error);
    }
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
    ended_.notify_all();
}

// Waits for batches, but not longer than the next upkeep allows.
StoreThread::Turn StoreThread::wait(std::vector<RecordBatch>& taken) {
    taken.clear();
    const Duration patience = engine_.patience();
    std::unique_lock lock(mutex_);
    const bool called =
        work_.wait_for(lock, patience, [&] { return !waiting_.empty() || stopping_ || abandoned_ || woken_; });
    woken_ = false;
    if (!waiting_.empty()) rest(lock);
    if (abandoned_) return Turn::end;
    taken.swap(waiting_);
    if (!taken.empty()) return Turn::work;
    if (stopping_) return Turn::end;
    return called ? Turn::work : Turn::idle;
}

// Batches that come meanwhile share the transaction.
void StoreThread::rest(std::unique_lock<std::mutex>& lock) {
    const Duration rest = pace_.begin(clock_.now());
    if (rest == Duration::zero()) return;
    resting_ = true;
    work_.wait_for(lock, rest, [&] { return stopping_ || abandoned_; });
    resting_ = false;
}

void StoreThread::write(std::vector<RecordBatch>& taken) {
    std::size_t first = 0;
    while (first < taken.size()) {
        std::size_t end = first;
        std::size_t records = 0;
        do {
            records += taken[end++].records.size();
        } while (end < taken.size() && records + taken[end].records.size() <= limits_.records_per_commit_max);
        write_group(std::span(taken).subspan(first, end - first), records);
        first = end;
        if (abandoned()) return;
    }
}

void StoreThread::write_group(std::span<RecordBatch> group, std::size_t records) {
    // Batches of one group follow one another: the first speaks for all.
    StoreFault fault = last_failed_.fault_of(group.front());
    if (fault == StoreFault::none) fault = engine_.commit(group, records);
    {
        const std::lock_guard lock(mutex_);
        unanswered_ -= group.size();
        if (fault != StoreFault::none && stopping_) failed_ = true;
    }
    if (fault == StoreFault::none) {
        for (const RecordBatch& batch : group) {
            if (on_durable_) on_durable_(batch);
            on_outcome_({batch.number, fault, {}, engine_.anothers(batch)});
        }
        return;
    }
    last_failed_ = {group.back().number, fault};
    for (RecordBatch& batch : group) on_outcome_({batch.number, fault, std::move(batch.records)});
}

void StoreThread::close() {
    Time by{};
    bool hurried = true;
    {
        const std::lock_guard lock(mutex_);
        by = stop_by_;
        hurried = !stopping_ || abandoned_;
    }
    engine_.close(by, hurried);
}

}  // namespace muster

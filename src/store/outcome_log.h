// For tests: keeps what a store answers, from whatever thread, and waits for it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <vector>

#include "store/store.h"

namespace muster {

class OutcomeLog {
public:
    // Far beyond any test, so that a hang fails instead of hanging.
    static constexpr std::chrono::seconds patience{60};

    void start(Store& store) {
        store.start([this](const BatchOutcome& outcome) { add(outcome); },
                    [this](const StoreError& error) { die(error); });
    }

    // True when `count` outcomes have come; false when the store has given up before.
    bool wait_for(std::size_t count) {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, patience, [&] { return outcomes_.size() >= count || death_; });
        return outcomes_.size() >= count;
    }
    // True when the store has given up.
    bool wait_for_death() {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, patience, [&] { return death_.has_value(); });
    }

    std::vector<BatchOutcome> all() const {
        const std::lock_guard lock(mutex_);
        return outcomes_;
    }
    BatchOutcome last() const {
        const std::lock_guard lock(mutex_);
        return outcomes_.empty() ? BatchOutcome{} : outcomes_.back();
    }
    // How many of the first outcomes came in the order 1, 2, 3 … without a fault.
    std::size_t good_in_order() const {
        const std::lock_guard lock(mutex_);
        std::size_t good = 0;
        while (good < outcomes_.size() && outcomes_[good].number == good + 1 &&
               outcomes_[good].fault == StoreFault::none)
            ++good;
        return good;
    }
    std::optional<StoreError> death() const {
        const std::lock_guard lock(mutex_);
        return death_;
    }
    int deaths() const {
        const std::lock_guard lock(mutex_);
        return deaths_;
    }

private:
    void add(const BatchOutcome& outcome) {
        const std::lock_guard lock(mutex_);
        outcomes_.push_back(outcome);
        changed_.notify_all();
    }
    void die(const StoreError& error) {
        const std::lock_guard lock(mutex_);
        death_ = error;
        ++deaths_;
        changed_.notify_all();
    }

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<BatchOutcome> outcomes_;
    std::optional<StoreError> death_;
    int deaths_ = 0;
};

}  // namespace muster

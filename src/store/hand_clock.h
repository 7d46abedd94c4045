// For tests: a clock that is moved by hand and may be asked from any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/time.h"

namespace muster {

class HandClock final : public Clock {
public:
    Time now() const override { return Time(Duration(since_start_.load())); }
    UnixMs wall() const override {
        const Duration since_start(since_start_ + date_ahead_);
        return UnixMs{start_ms + std::chrono::duration_cast<std::chrono::milliseconds>(since_start).count()};
    }
    void advance(Duration by) { since_start_ += by.count(); }
    // The date alone is wrong by so much.
    void set_date_ahead(Duration by) { date_ahead_ = by.count(); }

    static constexpr std::int64_t start_ms = 1'700'000'000'000;

private:
    std::atomic<std::int64_t> since_start_{0};
    std::atomic<std::int64_t> date_ahead_{0};
};

}  // namespace muster

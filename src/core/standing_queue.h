// Which requests are taken while more come than the game thread can handle.
//
// The store's queue has its own measure (store_pace.h). This is the queue before it: what the network has read and the
// loop has not handled yet. A burst, a slow pass or a stop makes requests late, and the loop makes up for it. But when
// every request of two intervals was late, or of one in which they had to wait longer and longer, the queue stands: it
// grows for as long as the flood lasts, and all wait as long as the oldest. A refusal costs next to nothing, so then
// only as many late ones are taken as the loop gets done:
//
//   in the last interval        | late requests of the next one
//   some request was in time    | all are taken; while the queue stands, a little more a second if some were refused
//   all were late, as above     | the queue stands: as many a second are taken as were taken so far
//   all were late again         | a tenth fewer a second
//   none was late for `memory`  | all are taken: the queue stands no more
//
// Game servers' messages come first in a pass, and each match takes five of them. When those pile up, requests are
// handled in time and their matches are not: so a request waited as long as the servers' messages of its pass.
//
// Who waited no longer than `wait_max` is always taken, so the thread never idles because of what was refused. While
// the queue stands, who waited longer than `wait_most` never is.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/time.h"

namespace muster {

// Game thread only. Times never go backwards.
class StandingQueue {
public:
    static constexpr std::chrono::milliseconds wait_max{5};
    static constexpr std::chrono::milliseconds wait_most{30};
    static constexpr std::chrono::milliseconds interval{50};
    static constexpr std::chrono::milliseconds interval_standing{20};  // of a queue that stands
    // What may be taken and is not is lost after so long: in one lump it would make the queue anew.
    static constexpr std::chrono::milliseconds lump_max{25};
    static constexpr std::chrono::seconds memory{1};
    static constexpr double step_down = 0.1;
    static constexpr double step_up = 0.03;
    static constexpr double per_second_least = 100;

    // A request is handled at `now` that was read at `received`. False when it is better refused.
    [[nodiscard]] bool takes(Time now, Time received) {
        if (now - interval_began_ >= (stands_ ? interval_standing : interval)) next_interval(now);
        if (stands_ && now != allowed_at_) allow_more(now);
        const Duration waited = std::max(now - received, servers_at_ == now ? servers_waited_ : Duration::zero());
        const bool late = waited > wait_max;
        (late ? late_ : in_time_) += 1;
        if (late) last_late_ = now;
        if (late_ + in_time_ == 1) first_waited_ = waited;
        last_waited_ = waited;
        if (late && stands_) {
            if (allowed_ < 1 || waited > wait_most) {
                ++refused_;
                return false;
            }
            allowed_ -= 1;
        }
        ++taken_;
        return true;
    }

    // What a game server said, read at `received`, is handled at `now`.
    void heard_server(Time now, Time received) {
        servers_at_ = now;
        servers_waited_ = now - received;
    }

private:
    void allow_more(Time now) {
        const double most = std::max(per_second_ * to_seconds(lump_max), 1.0);
        allowed_ = std::min(allowed_ + per_second_ * to_seconds(now - allowed_at_), most);
        allowed_at_ = now;
    }

    void next_interval(Time now) {
        const Duration passed = std::min<Duration>(now - interval_began_, 2 * interval);
        const bool all_late = late_ > 0 && in_time_ == 0;
        if (now - last_late_ >= memory) stands_ = false;
        if (stands_) {
            if (all_late) per_second_ = std::max(per_second_ * (1 - step_down), per_second_least);
            if (!all_late && refused_ > 0) per_second_ *= 1 + step_up;
        } else {
            const bool queued =
                all_late && now - interval_began_ < 2 * interval;  // after a long silence it is no queue
            if (queued && (queued_ || last_waited_ > first_waited_)) {
                stands_ = true;
                per_second_ = std::max(static_cast<double>(taken_) / to_seconds(passed), per_second_least);
            }
            queued_ = queued && !stands_;
        }
        interval_began_ = now;
        late_ = in_time_ = taken_ = refused_ = 0;
    }

    bool stands_ = false;
    bool queued_ = false;    // all of the last interval were late, and their waits grew shorter: perhaps a burst
    double per_second_ = 0;  // late requests, while the queue stands
    double allowed_ = 0;     // of those, now
    Time allowed_at_{};
    Time interval_began_{};
    Time last_late_{};
    Time servers_at_ = Time::min();  // the pass in which a server's message was handled last,
    Duration servers_waited_{0};     // and how long that had waited
    Duration first_waited_{0};       // these six: in this interval
    Duration last_waited_{0};
    std::uint64_t late_ = 0;
    std::uint64_t in_time_ = 0;
    std::uint64_t taken_ = 0;
    std::uint64_t refused_ = 0;
};

}  // namespace muster

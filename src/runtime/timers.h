// Timers with callbacks: one-shot and repeating, alone or in named groups, on real or on running time.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/function.h"
#include "base/log.h"
#include "base/result.h"
#include "base/time.h"
#include "runtime/loop_time.h"
#include "runtime/pass.h"
#include "runtime/pass_budget.h"
#include "runtime/thread_guard.h"
#include "runtime/timer_error.h"
#include "runtime/timer_groups.h"
#include "runtime/timer_id.h"
#include "runtime/timer_wheel.h"

namespace muster {

// What a callback is told. `pass.now - deadline` is how late it is.
struct TimerFired {
    TimerId id;
    Pass pass;      // the one it fires in
    Time deadline;  // in real time; a gap has moved that of a timer on running time
    // Intervals of a repeating timer that went by before this call: it fires once for all of them (T-4).
    std::uint64_t missed = 0;
};

// Three words of captures are kept in place, so that a timer lives in 64 bytes; more go to the heap.
using TimerCallback = Function<void(const TimerFired&), 24, TooLarge::on_heap>;

struct TimerSpec {
    Duration first_delay;
    Duration interval{0};  // 0: fires once
    std::optional<std::string_view> group = std::nullopt;
    TimeBase base = TimeBase::running;
};

// Loop thread only. Timers due in one pass fire in the order of their deadline, in whole milliseconds rounded up, ties
// in the order of scheduling (T-3).
//
// A callback may schedule, cancel and reschedule any timer, its own too, and cancel the group it is in (T-5). One that
// throws is logged and counted; a repeating timer goes on (L-5, fault 13).
class Timers {
public:
    static constexpr std::chrono::milliseconds delay_least{1};
    static constexpr std::chrono::hours delay_most{30 * 24};

    // Both outlive the timers.
    Timers(const LoopTime& time, Log& log);

    // All delays count from the pass that asks, or between passes from what the clock says. A refusal changes nothing.
    Result<TimerId, TimerError> once(Duration delay, TimerCallback callback);
    Result<TimerId, TimerError> every(Duration interval, TimerCallback callback);
    Result<TimerId, TimerError> schedule(const TimerSpec& spec, TimerCallback callback);
    // For delays that the caller computed itself: one out of bounds is brought to the nearest bound, so nothing is
    // refused. The callback and the group's name are not empty.
    template <class Callback>
        requires std::is_constructible_v<TimerCallback, Callback>
    TimerId start(const TimerSpec& spec, Callback&& callback);

    // False when there is no such timer. Its callback never runs after this, and is destroyed before this returns (when
    // it is the one that runs now: as soon as it returns).
    bool cancel(TimerId id);

    // Lets the timer fire after `delay` from now instead; a repeating one takes its new phase from there. A paused one
    // stays paused with that much time left.
    Result<void, TimerError> reschedule(TimerId id, Duration delay);
    // The same for a timer that exists and a delay that the caller computed itself, as in start().
    void restart(TimerId id, Duration delay);

    // Time left until the timer fires; of a paused one, what it will have left when it goes on. Nothing when there is
    // no such timer, or when it is a one-shot that fires right now.
    std::optional<Duration> remaining(TimerId id) const;
    bool contains(TimerId id) const;

    // The three return to how many timers it applied. A name nobody used is no error.
    //
    // Cancels all timers of the group, and forgets that it was paused.
    Result<std::size_t, TimerError> cancel_group(std::string_view name);
    // Stops the group's time: each timer keeps what it has left, and what is scheduled into the group starts paused.
    Result<std::size_t, TimerError> pause_group(std::string_view name);
    Result<std::size_t, TimerError> resume_group(std::string_view name);

    // For the loop, first thing in a pass: finds what is due by the pass's time.
    void begin_pass(const Pass& pass);
    // For the loop, once in a pass: fires what is due, as far as the budget allows. What is left comes first in the
    // next pass, in order. Returns how many fired. Timers scheduled meanwhile wait for a later pass.
    std::size_t run_due(const Pass& pass, PassBudget& budget);
    bool has_due() const;

    // When a pass is wanted for the next timer, in real time: never later than its deadline. Nothing without timers.
    std::optional<Time> next_wake() const;

    // Timers that exist, paused ones too.
    std::size_t size() const;
    // Group names remembered.
    std::size_t groups() const { return groups_.size(); }
    // Callbacks run so far, and how many of them threw.
    std::uint64_t fired() const { return fired_; }
    std::uint64_t failures() const { return failures_; }

    // Makes room for so many timers on each time base.
    void reserve(std::size_t timers);
    static constexpr std::size_t bytes_per_timer() { return TimerWheel::bytes_per_timer() + sizeof(Record); }

    // The calling thread owns the timers from now on.
    void bind_to_this_thread() { guard_.bind_to_this_thread(); }

private:
    static constexpr std::uint32_t none = TimerGroups::none;

    // What the wheel does not know about a timer.
    struct Record {
        TimerCallback callback;        // empty while it runs; of a timer that is gone, one that drops silently
        std::uint32_t details = none;  // index, of a timer that repeats or is in a group
    };

    // What the wheel keeps for us beside its links, so that moving a plain timer touches no record: from the lowest bit
    // on, how many nanoseconds the exact deadline lies before the wheel's whole millisecond, whether the timer has
    // details, and when it was armed. Of two timers, the one armed first has less, modulo 2^64, as long as fewer than
    // 2^42 were armed between them: 1.7 million a second for the longest delay.
    struct Armed {
        static constexpr std::uint64_t early_ns_mask = (std::uint64_t{1} << 20) - 1;
        static constexpr std::uint64_t detailed = std::uint64_t{1} << 20;
        static constexpr std::uint64_t next = std::uint64_t{1} << 21;

        static bool before(std::uint64_t one, std::uint64_t other) {
            return static_cast<std::int64_t>(one - other) < 0;
        }
        static Duration early(std::uint64_t payload) { return std::chrono::nanoseconds(payload & early_ns_mask); }
    };

    struct Details {
        Duration interval{0};
        Duration left{0};  // while paused
        TimerGroups::Index group = none;
        std::uint32_t next_in_group = none;  // indexes of ids
        std::uint32_t prev_in_group = none;
        bool paused = false;
    };

    // One time base: its wheel, whose payloads are as Armed says, and the records of its timers.
    struct Base {
        explicit Base(Time start) : wheel(start) {}
        TimerWheel wheel;
        std::vector<Record> records;
    };

    // The lowest bit of an id's index says which base it is on; the rest is the wheel's index.
    static TimeBase base_of(std::uint32_t index) { return static_cast<TimeBase>(index & 1); }
    static TimerId in_wheel(TimerId id) { return {id.index >> 1, id.generation}; }
    static TimerId outside(TimerId in_wheel, TimeBase base) {
        return {in_wheel.index << 1 | static_cast<std::uint32_t>(base), in_wheel.generation};
    }
    Base& base(TimeBase which) { return which == TimeBase::running ? running_ : real_; }
    const Base& base(TimeBase which) const { return which == TimeBase::running ? running_ : real_; }
    Base& base(TimerId id) { return base(base_of(id.index)); }
    const Base& base(TimerId id) const { return base(base_of(id.index)); }
    Record& record(std::uint32_t index) { return base(base_of(index)).records[index >> 1]; }
    const Record& record(std::uint32_t index) const { return base(base_of(index)).records[index >> 1]; }
    TimerId id_of(std::uint32_t index) const {
        return outside(base(base_of(index)).wheel.id_at(index >> 1), base_of(index));
    }
    // Null for a timer that fires once and is in no group.
    Details* details(std::uint32_t index);
    const Details* details(std::uint32_t index) const;
    TimerGroups::Index group_of(std::uint32_t index) const;

    static Duration within_bounds(Duration delay) { return std::clamp<Duration>(delay, delay_least, delay_most); }
    TimerId start_any(const TimerSpec& spec, TimerCallback callback);
    template <TimeBase which, class Callback>
    [[gnu::noinline]] TimerId add(Duration delay, std::uint64_t detailed, Callback&& callback);
    [[gnu::noinline]] static void grow(Base& on);
    [[gnu::noinline]] bool forget(std::uint32_t index);
    void make_room_for_details();
    std::uint32_t take_details();
    void drop_details(std::uint32_t index);
    Time exact_deadline(TimerId id) const;
    std::optional<TimeBase> first_due() const;
    void fire(TimerId id, Time deadline, const Pass& pass);
    void callback_failed(TimerId id, TimerGroups::Index group, std::string_view why);
    std::string name_of(TimerId id, TimerGroups::Index group) const;
    std::uint64_t next_payload(TimerWheel::Tick rounded, Time deadline, std::uint64_t detailed);
    void arm(TimerId id, Time deadline, std::uint64_t detailed);
    void pause(TimerId id);
    void resume(TimerId id);
    void join_group(std::uint32_t index, TimerGroups::Index into);
    void leave_group(std::uint32_t index);

    const LoopTime& time_;
    Log& log_;
    ThreadGuard guard_;
    Base running_;
    Base real_;
    std::vector<Details> details_;       // most timers have none
    std::uint32_t free_details_ = none;  // the first of those that nobody uses, linked by next_in_group
    TimerGroups groups_;
    std::uint64_t armed_ = 0;  // goes up by Armed::next whenever a timer is armed
    std::uint64_t fired_ = 0;
    std::uint64_t failures_ = 0;
    bool running_due_ = false;
};

// A timer of the usual kind, alone and with a few captures that are copied without fail, is made in the place where it
// stays: a third of the time that start_any() takes.
template <class Callback>
    requires std::is_constructible_v<TimerCallback, Callback>
[[gnu::always_inline]] inline TimerId Timers::start(const TimerSpec& spec, Callback&& callback) {
    constexpr bool may_be_empty = std::is_constructible_v<bool, Callback&>;
    if constexpr (!may_be_empty && std::is_nothrow_constructible_v<TimerCallback, Callback>) {
        const bool is_plain = !spec.group && spec.interval == Duration::zero();
        const Duration delay = within_bounds(spec.first_delay);
        if (is_plain && spec.base == TimeBase::running)
            return add<TimeBase::running>(delay, 0, std::forward<Callback>(callback));
        if (is_plain) return add<TimeBase::real>(delay, 0, std::forward<Callback>(callback));
    }
    return start_any(spec, std::forward<Callback>(callback));
}

// A timer whose details, if it has any, are still to be set.
template <TimeBase which, class Callback>
TimerId Timers::add(Duration delay, std::uint64_t detailed, Callback&& callback) {
    guard_.check();
    Base& on = base(which);
    if (!on.wheel.has_free()) [[unlikely]]
        grow(on);
    const Time deadline = time_.now(which) + delay;
    const TimerWheel::Tick rounded = TimerWheel::rounded_up(deadline);
    const TimerId id = on.wheel.schedule_in_free(rounded, next_payload(rounded, deadline, detailed));
    // What is there of a timer that is gone drops silently: no destructor is left out.
    std::construct_at(&on.records[id.index].callback, std::forward<Callback>(callback));
    return outside(id, which);
}

inline std::uint64_t Timers::next_payload(TimerWheel::Tick rounded, Time deadline, std::uint64_t detailed) {
    armed_ += Armed::next;
    return armed_ | detailed | static_cast<std::uint64_t>((rounded - deadline).count());
}

}  // namespace muster

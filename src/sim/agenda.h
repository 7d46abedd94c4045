// What will happen, in the order of virtual time: the simulator's only engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/function.h"
#include "base/time.h"
#include "base/virtual_clock.h"

namespace muster::sim {

// One thread. Entries of one moment happen in the order they were made, so a seed always plays the same way.
class Agenda {
public:
    using Action = Function<void(), 72>;

    // The clock outlives the agenda, and is moved by nobody else.
    explicit Agenda(VirtualClock& clock) : clock_(clock) {}

    Time now() const { return clock_.now(); }

    // A moment that is over already means now.
    void at(Time when, Action action);
    void in(Duration delay, Action action) { at(now() + delay, std::move(action)); }

    // One entry of its own, which is planned anew more often than it comes about: setting it forgets where it was. It
    // takes its place among the entries of its moment when it is set.
    void set_alarm(Time when);
    // What it does. Before it is set.
    void on_alarm(Action action) { alarm_ = std::move(action); }

    // Moves the clock to the next entry and lets it happen. False, and the clock at `until`, when nothing is to happen
    // by then.
    bool step(Time until);

    std::size_t size() const { return heap_.size() + (alarm_at_ ? 1 : 0); }

private:
    struct Entry {
        Time when;
        std::uint64_t order;
        std::uint32_t slot;

        bool is_before(const Entry& other) const {
            return when != other.when ? when < other.when : order < other.order;
        }
    };
    bool alarm_is_next() const { return alarm_at_ && (heap_.empty() || alarm_at_->is_before(heap_.front())); }
    void push(const Entry& entry);
    Entry pop();

    VirtualClock& clock_;
    std::vector<Entry> heap_;     // each entry is before its four children
    std::deque<Action> actions_;  // by slot; they stay where they are while they happen
    std::vector<std::uint32_t> free_;
    std::uint64_t next_order_ = 0;
    std::optional<Entry> alarm_at_;
    Action alarm_;
};

}  // namespace muster::sim

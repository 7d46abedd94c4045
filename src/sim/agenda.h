// What will happen, in the order of virtual time: the simulator's only engine.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/function.h"
#include "base/time.h"
#include "base/virtual_clock.h"
#include "sim/stable_array.h"

namespace muster::sim {

// One thread. Entries of one moment happen in the order they were made, so a seed always plays the same way.
class Agenda {
public:
    using Action = Function<void(), 72>;

    // The clock outlives the agenda, and is moved by nobody else.
    explicit Agenda(VirtualClock& clock) : clock_(clock) {}

    Time now() const { return clock_.now(); }

    // A moment that is over already means now.
    template <class F>
    void at(Time when, F&& action) {
        const std::uint32_t slot = take_slot();
        std::construct_at(&actions_[slot], std::forward<F>(action));  // in its place: nothing is moved
        push({std::max(when, now()), key_of(next_order_++, slot)});
    }
    template <class F>
    void in(Duration delay, F&& action) {
        at(now() + delay, std::forward<F>(action));
    }

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
    // Of one moment the order decides; no two have the same, so the slot never does.
    struct Entry {
        Time when;
        std::uint64_t key;  // its order, then its slot

        std::uint32_t slot() const { return static_cast<std::uint32_t>(key & (slots_max - 1)); }
        bool is_before(const Entry& other) const { return when != other.when ? when < other.when : key < other.key; }
    };
    static constexpr int slot_bits = 24;
    static constexpr std::uint64_t slots_max = std::uint64_t{1} << slot_bits;

    static std::uint64_t key_of(std::uint64_t order, std::uint32_t slot) { return order << slot_bits | slot; }
    bool alarm_is_next() const { return alarm_at_ && (heap_.empty() || alarm_at_->is_before(heap_.front())); }
    std::uint32_t take_slot();
    void push(const Entry& entry);
    Entry pop();

    VirtualClock& clock_;
    std::vector<Entry> heap_;      // each entry is before its four children
    StableArray<Action> actions_;  // by slot; they stay where they are while they happen
    std::vector<std::uint32_t> free_;
    std::uint64_t next_order_ = 0;
    std::optional<Entry> alarm_at_;
    Action alarm_;
};

}  // namespace muster::sim

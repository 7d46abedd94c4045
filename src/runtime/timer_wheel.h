// A hierarchical timer wheel: four rings of 256 slots, one millisecond a tick, all timers in one flat pool (T-1).
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/time.h"
#include "runtime/timer_id.h"

namespace muster {

// Which timers are due, and when to look again. No callbacks and no clock: the time comes with each call.
//
// A timer is armed (it has a deadline), or idle (it keeps its id and payload until it is armed again or cancelled).
// Scheduling, cancelling and rescheduling take constant time, and no memory once the pool has grown to its size.
//
// Deadlines count in whole milliseconds, rounded up, so that no timer is ever early (T-3). One that lies at or before
// the present counts as the present. One thread at a time.
class TimerWheel {
public:
    // How far ahead of the present a deadline may lie. The longest delay of T-1, with ten days to spare for a wheel
    // that was not advanced for a while.
    static constexpr std::chrono::hours reach{40 * 24};
    static constexpr std::size_t timers_max = std::size_t{1} << 31;

    struct Due {
        TimerId id;
        std::uint64_t payload = 0;
        Time deadline;
    };

    explicit TimerWheel(Time start);

    // Arms a new timer. `payload` is the owner's and comes back when the timer is due.
    TimerId schedule(Time deadline, std::uint64_t payload);

    // Moves the timer to another deadline, behind those that have the same one; an idle one is armed again, a due one
    // is due no more. False when there is no such timer.
    bool reschedule(TimerId id, Time deadline);
    bool reschedule(TimerId id, Time deadline, std::uint64_t payload);

    // Forgets the timer; its id names none from now on. False when there is no such timer.
    bool cancel(TimerId id);

    // Makes the timer idle. False when there is no such timer.
    bool disarm(TimerId id);

    bool contains(TimerId id) const { return find(id) != none; }
    bool armed(TimerId id) const;

    // The timer of that index, which exists.
    TimerId id_at(std::uint32_t index) const { return {index, pool_[first_timer + index].generation}; }

    // Only for a timer that exists; the deadline only for one that is armed.
    Time deadline(TimerId id) const;
    std::uint64_t payload(TimerId id) const;

    // Makes `now` the present: what has its deadline by then becomes due, in order of deadline, ties in the order of
    // arming. What is due already stays ahead of it. A `now` before the present changes nothing.
    void advance(Time now);

    // The due timer that is first in order, without taking it. Timers armed since the last advance are not among them.
    std::optional<Due> first_due() const;

    // Takes the first due timer, which becomes idle. False, and `due` untouched, when none is due.
    bool pop_due(Due& due);
    bool has_due() const { return pool_[due_list].next != due_list; }

    // When to advance next: never later than the next deadline, and earlier by at most the span of the slot it waits
    // in. Nothing when no timer is armed.
    std::optional<Time> next_wake() const;

    // Timers that exist, armed or idle.
    std::size_t size() const { return size_; }

    // Makes room for `timers` in all, so that as many can be scheduled without taking memory.
    void reserve(std::size_t timers);

    // What one timer takes of the pool.
    static constexpr std::size_t bytes_per_timer() { return sizeof(Entry); }

private:
    static constexpr std::uint32_t levels = 4;
    static constexpr std::uint32_t slot_bits = 8;
    static constexpr std::uint32_t slots = 1u << slot_bits;

    // The first entries of the pool head the lists: one per slot, then that of the due timers. Timers follow.
    static constexpr std::uint32_t due_list = levels * slots;
    static constexpr std::uint32_t first_timer = due_list + 1;
    static constexpr std::uint32_t none = ~std::uint32_t{0};

    // Lists are circular. An entry that is its own neighbour is an empty list, or an idle timer.
    struct Entry {
        std::uint32_t next;
        std::uint32_t prev;
        std::uint32_t deadline;    // the low half of its tick
        std::uint32_t generation;  // odd while the entry is a timer, even while it is free
        std::uint64_t payload;     // beside the links: who moves a timer touches both
    };
    static_assert(sizeof(Entry) == 24);

    using Occupancy = std::array<std::uint64_t, slots / 64>;

    // The occupied slot that comes first, and the tick at which it begins.
    struct Next {
        std::int64_t tick;
        std::uint32_t list;
    };

    std::uint32_t find(TimerId id) const;
    std::uint32_t take_entry();
    [[gnu::noinline]] void grow();
    void arm(std::uint32_t entry, std::int64_t tick);
    void link(std::uint32_t entry);
    void unlink(std::uint32_t entry);
    void make_idle(std::uint32_t entry);
    void collect(std::uint32_t list);
    void cascade(std::uint32_t list);
    void empty_slot(std::uint32_t list);
    Due due_of(std::uint32_t entry) const;
    std::optional<Next> next_occupied() const;
    std::int64_t tick_for(Time deadline) const;

    std::vector<Entry> pool_;
    std::array<Occupancy, levels> occupied_{};  // a bit per slot that holds a timer
    std::int64_t present_;                      // in ticks; whatever was armed for it or before is due
    std::uint32_t free_ = none;                 // the first free entry, linked by `next`
    std::size_t size_ = 0;
};

}  // namespace muster

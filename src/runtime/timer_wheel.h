// A hierarchical timer wheel: four rings of 256 slots, one millisecond a tick, all timers in one flat pool (T-1).
#pragma once

#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/check.h"
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

    // A deadline as the wheel counts it.
    using Tick = std::chrono::time_point<Time::clock, std::chrono::milliseconds>;
    static Tick rounded_up(Time deadline) { return std::chrono::ceil<Tick::duration>(deadline); }

    struct Due {
        TimerId id;
        std::uint64_t payload = 0;
        Time deadline;
    };

    explicit TimerWheel(Time start);

    // Arms a new timer. `payload` is the owner's and comes back when the timer is due.
    TimerId schedule(Time deadline, std::uint64_t payload) { return schedule(rounded_up(deadline), payload); }
    TimerId schedule(Tick deadline, std::uint64_t payload) {
        if (!has_free()) [[unlikely]]
            add_free();
        return schedule_in_free(deadline, payload);
    }

    // The same in two steps: the first may fail for want of memory, the second cannot.
    bool has_free() const { return free_ != none; }
    [[gnu::noinline]] void add_free();
    // Only while there is a free place.
    TimerId schedule_in_free(Tick deadline, std::uint64_t payload);

    // Moves the timer to another deadline, behind those that have the same one; an idle one is armed again, a due one
    // is due no more. False when there is no such timer.
    bool reschedule(TimerId id, Time deadline) { return move(find(id), rounded_up(deadline)); }
    bool reschedule(TimerId id, Tick deadline, std::uint64_t payload) {
        return reschedule_without(0, id, deadline, payload);
    }
    // The same for a timer whose payload has none of these bits. False, and nothing changed, for another one.
    bool reschedule_without(std::uint64_t bits, TimerId id, Tick deadline, std::uint64_t payload);

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

    static constexpr std::uint64_t ticks_ahead_max = Tick::duration(reach).count();

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
    bool move(std::uint32_t entry, Tick deadline);
    std::uint32_t tick_for(Tick deadline) const;
    void link(std::uint32_t entry, std::uint32_t tick);
    void unlink(std::uint32_t entry);
    void make_idle(std::uint32_t entry);
    void collect(std::uint32_t list);
    void cascade(std::uint32_t list);
    void occupy(std::uint32_t list);
    void vacate(std::uint32_t list);
    void empty_slot(std::uint32_t list);
    Due due_of(std::uint32_t entry) const;
    std::optional<Next> next_occupied() const;

    std::vector<Entry> pool_;
    std::uint32_t timers_ = 0;   // entries of the pool that are timers or were
    std::uint32_t free_ = none;  // the first free entry, linked by `next`
    std::size_t size_ = 0;
    std::int64_t present_;                      // in ticks; whatever was armed for it or before is due
    std::array<Occupancy, levels> occupied_{};  // a bit per slot that holds a timer
};

// Inline from here on is what happens at each scheduling, cancelling and rescheduling: called, it would cost as much
// again as it does.

inline TimerId TimerWheel::schedule_in_free(Tick deadline, std::uint64_t payload) {
    const std::uint32_t tick = tick_for(deadline);
    const std::uint32_t entry = free_;
    free_ = pool_[entry].next;
    const std::uint32_t generation = ++pool_[entry].generation;
    pool_[entry].payload = payload;
    link(entry, tick);
    ++size_;
    return {entry - first_timer, generation};
}

inline bool TimerWheel::reschedule_without(std::uint64_t bits, TimerId id, Tick deadline, std::uint64_t payload) {
    const std::uint32_t entry = find(id);
    if (entry == none || (pool_[entry].payload & bits) != 0) return false;
    pool_[entry].payload = payload;
    return move(entry, deadline);
}

inline bool TimerWheel::cancel(TimerId id) {
    const std::uint32_t entry = find(id);
    if (entry == none) return false;
    unlink(entry);
    ++pool_[entry].generation;
    pool_[entry].next = free_;
    free_ = entry;
    --size_;
    return true;
}

inline std::uint64_t TimerWheel::payload(TimerId id) const {
    const std::uint32_t entry = find(id);
    MUSTER_CHECK(entry != none, "only a timer that exists has a payload");
    return pool_[entry].payload;
}

inline bool TimerWheel::move(std::uint32_t entry, Tick deadline) {
    if (entry == none) return false;
    const std::uint32_t tick = tick_for(deadline);
    unlink(entry);
    link(entry, tick);
    return true;
}

// The entry of a timer that exists, or none.
inline std::uint32_t TimerWheel::find(TimerId id) const {
    const bool may_be = (id.generation & 1) != 0 && id.index < timers_;
    if (!may_be || pool_[first_timer + id.index].generation != id.generation) return none;
    return first_timer + id.index;
}

// The low half of the tick at which a deadline is reached, at the earliest the present.
inline std::uint32_t TimerWheel::tick_for(Tick deadline) const {
    const std::int64_t tick = deadline.time_since_epoch().count();
    const bool is_ahead = static_cast<std::uint64_t>(tick - present_) <= ticks_ahead_max;
    if (is_ahead) [[likely]]
        return static_cast<std::uint32_t>(tick);
    MUSTER_CHECK(tick < present_, "a deadline lies within the wheel's reach");
    return static_cast<std::uint32_t>(present_);
}

// The level is that of the highest byte in which the deadline differs from the present. So all timers of one deadline
// are in one slot at any time, which keeps them in the order of arming, and a slot of an upper level never holds what
// belongs to the block that the present is in. The top ring turns: its reach is less than its span, so a slot behind
// the present's own means the next turn.
inline void TimerWheel::link(std::uint32_t entry, std::uint32_t tick) {
    const std::uint32_t differs = tick ^ static_cast<std::uint32_t>(present_);
    const auto width = static_cast<std::uint32_t>(std::bit_width(differs | 1));
    const std::uint32_t shift = (width - 1) / slot_bits * slot_bits;  // the level times slot_bits
    const std::uint32_t slot = (tick >> shift) % slots;
    const std::uint32_t list = shift * (slots / slot_bits) + slot;

    const std::uint32_t last = pool_[list].prev;
    if (last == list) [[unlikely]]
        occupy(list);
    pool_[entry].next = list;
    pool_[entry].prev = last;
    pool_[entry].deadline = tick;
    pool_[last].next = entry;
    pool_[list].prev = entry;
}

// Takes the timer out of whichever list it is in. Its own links are left as they were, for the caller to set.
inline void TimerWheel::unlink(std::uint32_t entry) {
    const std::uint32_t next = pool_[entry].next;
    const std::uint32_t prev = pool_[entry].prev;
    pool_[prev].next = next;
    pool_[next].prev = prev;
    // Only a list head that is left alone has itself on both sides.
    const bool left_alone = next == prev && next < due_list;
    if (left_alone) vacate(next);
}

inline void TimerWheel::occupy(std::uint32_t list) {
    occupied_[list / slots][list % slots / 64] |= std::uint64_t{1} << (list % 64);
}

inline void TimerWheel::vacate(std::uint32_t list) {
    occupied_[list / slots][list % slots / 64] &= ~(std::uint64_t{1} << (list % 64));
}

}  // namespace muster

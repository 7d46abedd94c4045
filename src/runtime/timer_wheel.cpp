#include "runtime/timer_wheel.h"

#include <algorithm>

namespace muster {
namespace {

constexpr std::size_t first_timers = 128;

constexpr Time time_of(std::int64_t tick) {
    return TimerWheel::Tick(TimerWheel::Tick::duration(tick));
}

std::int64_t last_tick_of(Time now) {
    return std::chrono::floor<TimerWheel::Tick::duration>(now).time_since_epoch().count();
}

// The first bit set at or after `from`, or nothing.
template <class Bits>
std::optional<std::uint32_t> first_set(const Bits& bits, std::uint32_t from) {
    std::uint32_t word = from / 64;
    if (word >= bits.size()) return std::nullopt;
    std::uint64_t rest = bits[word] & (~std::uint64_t{0} << (from % 64));
    while (rest == 0) {
        if (++word == bits.size()) return std::nullopt;
        rest = bits[word];
    }
    return word * 64 + static_cast<std::uint32_t>(std::countr_zero(rest));
}

}  // namespace

// The first few timers do not move the heads of all lists.
TimerWheel::TimerWheel(Time start) : present_(last_tick_of(start)) {
    reserve(first_timers);
    pool_.resize(first_timer);
    for (std::uint32_t list = 0; list < first_timer; ++list) pool_[list] = {list, list, 0, 0, 0};
}

bool TimerWheel::disarm(TimerId id) {
    const std::uint32_t entry = find(id);
    if (entry == none) return false;
    unlink(entry);
    make_idle(entry);
    return true;
}

bool TimerWheel::armed(TimerId id) const {
    const std::uint32_t entry = find(id);
    return entry != none && pool_[entry].next != entry;
}

Time TimerWheel::deadline(TimerId id) const {
    MUSTER_CHECK(armed(id), "only an armed timer has a deadline");
    // Half a deadline is kept. Ahead of the present it lies within reach; what lies further on is behind, and due.
    const std::uint32_t ahead = pool_[find(id)].deadline - static_cast<std::uint32_t>(present_);
    const bool behind = ahead > ticks_ahead_max;
    return time_of(present_ + ahead - (behind ? std::int64_t{1} << 32 : 0));
}

void TimerWheel::advance(Time now) {
    const std::int64_t target = std::max(present_, last_tick_of(now));
    for (auto next = next_occupied(); next && next->tick <= target; next = next_occupied()) {
        present_ = next->tick;
        if (next->list < slots) {
            collect(next->list);
        } else {
            cascade(next->list);
        }
    }
    present_ = target;
}

std::optional<TimerWheel::Due> TimerWheel::first_due() const {
    if (!has_due()) return std::nullopt;
    return due_of(pool_[due_list].next);
}

bool TimerWheel::pop_due(Due& due) {
    if (!has_due()) return false;
    const std::uint32_t entry = pool_[due_list].next;
    due = due_of(entry);
    unlink(entry);
    make_idle(entry);
    return true;
}

std::optional<Time> TimerWheel::next_wake() const {
    if (has_due()) return time_of(present_);
    const std::optional<Next> next = next_occupied();
    if (!next) return std::nullopt;
    return time_of(next->tick);
}

void TimerWheel::reserve(std::size_t timers) {
    pool_.reserve(first_timer + timers);
}

// Kept apart from what happens at each scheduling.
void TimerWheel::add_free() {
    MUSTER_CHECK(timers_ < timers_max, "the pool of timers is bounded");
    pool_.push_back({free_, none, 0, 0, 0});
    free_ = first_timer + timers_++;
}

void TimerWheel::make_idle(std::uint32_t entry) {
    pool_[entry].next = entry;
    pool_[entry].prev = entry;
}

// Appends a whole slot of the lowest level to the due timers.
void TimerWheel::collect(std::uint32_t list) {
    const std::uint32_t first = pool_[list].next;
    const std::uint32_t last = pool_[list].prev;
    const std::uint32_t before = pool_[due_list].prev;
    pool_[before].next = first;
    pool_[first].prev = before;
    pool_[last].next = due_list;
    pool_[due_list].prev = last;
    empty_slot(list);
}

// Spreads a slot of an upper level, which the present has just entered, over the levels below.
void TimerWheel::cascade(std::uint32_t list) {
    std::uint32_t entry = pool_[list].next;
    empty_slot(list);
    while (entry != list) {
        const std::uint32_t next = pool_[entry].next;
        link(entry, pool_[entry].deadline);
        entry = next;
    }
}

void TimerWheel::empty_slot(std::uint32_t list) {
    pool_[list].next = list;
    pool_[list].prev = list;
    vacate(list);
}

TimerWheel::Due TimerWheel::due_of(std::uint32_t entry) const {
    const std::uint32_t late = static_cast<std::uint32_t>(present_) - pool_[entry].deadline;
    const std::uint32_t index = entry - first_timer;
    return {{index, pool_[entry].generation}, pool_[entry].payload, time_of(present_ - late)};
}

std::optional<TimerWheel::Next> TimerWheel::next_occupied() const {
    for (std::uint32_t level = 0; level < levels; ++level) {
        const std::uint32_t shift = level * slot_bits;
        const auto own = static_cast<std::uint32_t>(present_ >> shift) % slots;
        // The lowest level may hold timers for the present itself; above it, the present's own slot is empty.
        std::optional<std::uint32_t> slot = first_set(occupied_[level], level == 0 ? own : own + 1);
        if (!slot && level == levels - 1) slot = first_set(occupied_[level], 0);
        if (!slot) continue;
        const std::uint32_t ahead = (*slot - own) % slots;
        return Next{((present_ >> shift) + ahead) << shift, level * slots + *slot};
    }
    return std::nullopt;
}

}  // namespace muster

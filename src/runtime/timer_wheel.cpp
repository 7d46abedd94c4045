#include "runtime/timer_wheel.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace muster {
namespace {

using Tick = std::chrono::milliseconds;

constexpr Time time_of(std::int64_t tick) {
    return Time(Tick(tick));
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

TimerWheel::TimerWheel(Time start)
    : pool_(first_timer), present_(std::chrono::floor<Tick>(start.time_since_epoch()).count()) {
    for (std::uint32_t list = 0; list < first_timer; ++list) pool_[list] = {list, list, 0, 0, 0};
}

TimerId TimerWheel::schedule(Time deadline, std::uint64_t payload) {
    const std::int64_t tick = tick_for(deadline);
    const std::uint32_t entry = take_entry();
    pool_[entry].payload = payload;
    arm(entry, tick);
    ++size_;
    return {entry - first_timer, pool_[entry].generation};
}

bool TimerWheel::reschedule(TimerId id, Time deadline) {
    const std::uint32_t entry = find(id);
    if (entry == none) return false;
    const std::int64_t tick = tick_for(deadline);
    unlink(entry);
    arm(entry, tick);
    return true;
}

bool TimerWheel::reschedule(TimerId id, Time deadline, std::uint64_t payload) {
    if (!reschedule(id, deadline)) return false;
    pool_[first_timer + id.index].payload = payload;
    return true;
}

bool TimerWheel::cancel(TimerId id) {
    const std::uint32_t entry = find(id);
    if (entry == none) return false;
    unlink(entry);
    ++pool_[entry].generation;
    pool_[entry].next = free_;
    free_ = entry;
    --size_;
    return true;
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
    const bool behind = ahead > Tick(reach).count();
    return time_of(present_ + ahead - (behind ? std::int64_t{1} << 32 : 0));
}

std::uint64_t TimerWheel::payload(TimerId id) const {
    MUSTER_CHECK(contains(id), "only a timer that exists has a payload");
    return pool_[first_timer + id.index].payload;
}

void TimerWheel::advance(Time now) {
    const std::int64_t target = std::max(present_, std::chrono::floor<Tick>(now.time_since_epoch()).count());
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

// The entry of a timer that exists, or none.
std::uint32_t TimerWheel::find(TimerId id) const {
    const bool is_timer = (id.generation & 1) != 0 && id.index < pool_.size() - first_timer;
    if (!is_timer || pool_[first_timer + id.index].generation != id.generation) return none;
    return first_timer + id.index;
}

// A timer with a generation of its own, not in any list yet.
std::uint32_t TimerWheel::take_entry() {
    if (free_ == none) [[unlikely]]
        grow();
    const std::uint32_t entry = free_;
    free_ = pool_[entry].next;
    ++pool_[entry].generation;
    return entry;
}

// Adds a free entry. Kept apart from what happens at each scheduling.
void TimerWheel::grow() {
    MUSTER_CHECK(pool_.size() < first_timer + timers_max, "the pool of timers is bounded");
    const auto entry = static_cast<std::uint32_t>(pool_.size());
    pool_.push_back({none, none, 0, 0, 0});
    free_ = entry;
}

// The tick at which a deadline is reached, at the earliest the present.
std::int64_t TimerWheel::tick_for(Time deadline) const {
    const std::int64_t tick = std::chrono::ceil<Tick>(deadline.time_since_epoch()).count();
    MUSTER_CHECK(tick - present_ <= Tick(reach).count(), "a deadline lies within the wheel's reach");
    return std::max(tick, present_);
}

void TimerWheel::arm(std::uint32_t entry, std::int64_t tick) {
    pool_[entry].deadline = static_cast<std::uint32_t>(tick);
    link(entry);
}

// The level is that of the highest byte in which the deadline differs from the present. So all timers of one deadline
// are in one slot at any time, which keeps them in the order of arming, and a slot of an upper level never holds what
// belongs to the block that the present is in. The top ring turns: its reach is less than its span, so a slot behind
// the present's own means the next turn.
void TimerWheel::link(std::uint32_t entry) {
    const std::uint32_t deadline = pool_[entry].deadline;
    const std::uint32_t differs = deadline ^ static_cast<std::uint32_t>(present_);
    const auto width = static_cast<std::uint32_t>(std::bit_width(differs | 1));
    const std::uint32_t level = (width - 1) / slot_bits;
    const std::uint32_t slot = (deadline >> (level * slot_bits)) % slots;
    const std::uint32_t list = level * slots + slot;

    const std::uint32_t last = pool_[list].prev;
    pool_[entry].next = list;
    pool_[entry].prev = last;
    pool_[last].next = entry;
    pool_[list].prev = entry;
    occupied_[level][slot / 64] |= std::uint64_t{1} << (slot % 64);
}

// Takes the timer out of whichever list it is in. Its own links are left as they were, for the caller to set.
void TimerWheel::unlink(std::uint32_t entry) {
    const std::uint32_t next = pool_[entry].next;
    const std::uint32_t prev = pool_[entry].prev;
    pool_[prev].next = next;
    pool_[next].prev = prev;
    // Only a list head that is left alone has itself on both sides.
    const bool left_alone = next == prev && next < due_list;
    if (left_alone) empty_slot(next);
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
        link(entry);
        entry = next;
    }
}

void TimerWheel::empty_slot(std::uint32_t list) {
    pool_[list].next = list;
    pool_[list].prev = list;
    const std::uint32_t slot = list % slots;
    occupied_[list / slots][slot / 64] &= ~(std::uint64_t{1} << (slot % 64));
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

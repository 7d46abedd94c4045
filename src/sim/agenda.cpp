#include "sim/agenda.h"

#include "base/check.h"

namespace muster::sim {
namespace {

// Of an entry of the heap. Four make it half as high as two would, and lie side by side.
constexpr std::size_t children = 4;

// Where the first of the entries [begin, end) stands: children of one entry.
template <class Entry>
std::size_t first_of(const std::vector<Entry>& heap, std::size_t begin, std::size_t end) {
    const auto first = [&heap](std::size_t a, std::size_t b) { return heap[b].is_before(heap[a]) ? b : a; };
    if (end - begin == children) return first(first(begin, begin + 1), first(begin + 2, begin + 3));
    std::size_t found = begin;
    for (std::size_t child = begin + 1; child < end; ++child) found = first(found, child);
    return found;
}

}  // namespace

std::uint32_t Agenda::take_slot() {
    if (free_.empty()) {
        MUSTER_CHECK(actions_.size() < slots_max, "the agenda is bounded");
        actions_.append();
        return static_cast<std::uint32_t>(actions_.size() - 1);
    }
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    return slot;
}

void Agenda::set_alarm(Time when) {
    alarm_at_ = Entry{std::max(when, now()), key_of(next_order_++, 0)};
}

bool Agenda::step(Time until) {
    if (alarm_is_next() && alarm_at_->when <= until) {
        clock_.advance_to(alarm_at_->when);
        alarm_at_.reset();
        alarm_();
        return true;
    }
    if (heap_.empty() || heap_.front().when > until) {
        clock_.advance_to(std::max(until, now()));
        return false;
    }
    const Entry entry = pop();
    clock_.advance_to(entry.when);
    // Its slot is free, and empty, when it is over: what it plans takes others.
    Action& action = actions_[entry.slot()];
    action();
    action.reset();
    free_.push_back(entry.slot());
    return true;
}

void Agenda::push(const Entry& entry) {
    std::size_t at = heap_.size();
    heap_.push_back(entry);
    while (at > 0) {
        const std::size_t parent = (at - 1) / children;
        if (!entry.is_before(heap_[parent])) break;
        heap_[at] = heap_[parent];
        at = parent;
    }
    heap_[at] = entry;
}

Agenda::Entry Agenda::pop() {
    const Entry first = heap_.front();
    const Entry last = heap_.back();
    heap_.pop_back();
    if (heap_.empty()) return first;
    std::size_t at = 0;
    for (;;) {
        const std::size_t begin = at * children + 1;
        if (begin >= heap_.size()) break;
        const std::size_t next = first_of(heap_, begin, std::min(begin + children, heap_.size()));
        if (!heap_[next].is_before(last)) break;
        heap_[at] = heap_[next];
        at = next;
    }
    heap_[at] = last;
    return first;
}

}  // namespace muster::sim

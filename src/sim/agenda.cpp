#include "sim/agenda.h"

#include <algorithm>
#include <utility>

namespace muster::sim {
namespace {

// Of an entry of the heap. Four make it half as high as two would, and lie side by side.
constexpr std::size_t children = 4;

}  // namespace

void Agenda::at(Time when, Action action) {
    std::uint32_t slot = 0;
    if (free_.empty()) {
        slot = static_cast<std::uint32_t>(actions_.size());
        actions_.push_back(std::move(action));
    } else {
        slot = free_.back();
        free_.pop_back();
        actions_[slot] = std::move(action);
    }
    push({std::max(when, now()), next_order_++, slot});
}

void Agenda::set_alarm(Time when) {
    alarm_at_ = Entry{std::max(when, now()), next_order_++, 0};
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
    // Its slot is free when it is over: what it plans takes others.
    Action& action = actions_[entry.slot];
    action();
    action.reset();
    free_.push_back(entry.slot);
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
        std::size_t next = begin;
        const std::size_t end = std::min(begin + children, heap_.size());
        for (std::size_t child = begin + 1; child < end; ++child) {
            if (heap_[child].is_before(heap_[next])) next = child;
        }
        if (!heap_[next].is_before(last)) break;
        heap_[at] = heap_[next];
        at = next;
    }
    heap_[at] = last;
    return first;
}

}  // namespace muster::sim

#include "sim/agenda.h"

#include <algorithm>
#include <utility>

namespace muster::sim {

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
    heap_.push_back({std::max(when, now()), next_order_++, slot});
    std::push_heap(heap_.begin(), heap_.end(), Later{});
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
    std::pop_heap(heap_.begin(), heap_.end(), Later{});
    const Entry entry = heap_.back();
    heap_.pop_back();
    clock_.advance_to(entry.when);
    // The action may make new entries, which may take its slot.
    Action action = std::move(actions_[entry.slot]);
    free_.push_back(entry.slot);
    action();
    return true;
}

}  // namespace muster::sim

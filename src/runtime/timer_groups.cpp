#include "runtime/timer_groups.h"

namespace muster {

TimerGroups::Index TimerGroups::find(std::string_view name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? none : found->second;
}

TimerGroups::Index TimerGroups::find_or_add(std::string_view name) {
    if (const Index known = find(name); known != none) return known;
    if (free_.empty()) {
        groups_.emplace_back();
        free_.push_back(static_cast<Index>(groups_.size() - 1));
    }
    const Index group = free_.back();
    groups_[group].name = name;
    by_name_.emplace(groups_[group].name, group);
    free_.pop_back();
    return group;
}

void TimerGroups::release(Index group) {
    Group& released = groups_[group];
    const bool empty = released.size == 0 && !released.paused;
    if (!empty || released.in_empty) return;
    empty_.push_back(group);
    released.in_empty = true;
    if (empty_.size() > empty_max) sweep();
}

void TimerGroups::sweep() {
    free_.reserve(free_.size() + empty_.size());
    for (const Index index : empty_) {
        Group& group = groups_[index];
        group.in_empty = false;
        // It may be in use again since it was listed.
        if (group.size > 0 || group.paused) continue;
        by_name_.erase(group.name);
        free_.push_back(index);
    }
    empty_.clear();
}

}  // namespace muster

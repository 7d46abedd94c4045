#include "http/event_ring.h"

#include <algorithm>

namespace muster {

void EventRing::preload(const std::vector<EventRecord>& newest, bool all) {
    const std::lock_guard lock(mutex_);
    if (!all && !newest.empty()) floor_ = newest.front().id - 1;
    for (const EventRecord& event : newest) push(event);
}

void EventRing::append(const EventRecord& event) {
    const std::lock_guard lock(mutex_);
    if (event.id > last_id_) push(event);
}

void EventRing::push(const EventRecord& event) {
    if (events_.size() == capacity_) {
        floor_ = events_.front()->id;
        events_.pop_front();
    }
    events_.push_back(std::make_shared<const EventRecord>(event));
    last_id_ = event.id;
}

std::vector<EventRing::Event> EventRing::after(std::int64_t id, std::size_t limit) const {
    const std::lock_guard lock(mutex_);
    const auto first = std::upper_bound(events_.begin(), events_.end(), id,
                                        [](std::int64_t wanted, const Event& event) { return wanted < event->id; });
    const auto count = std::min<std::ptrdiff_t>(events_.end() - first, static_cast<std::ptrdiff_t>(limit));
    return {first, first + count};
}

std::vector<EventRing::Event> EventRing::before(std::int64_t id, std::size_t limit) const {
    const std::lock_guard lock(mutex_);
    const auto end = std::lower_bound(events_.begin(), events_.end(), id,
                                      [](const Event& event, std::int64_t wanted) { return event->id < wanted; });
    const auto count = std::min<std::ptrdiff_t>(end - events_.begin(), static_cast<std::ptrdiff_t>(limit));
    return {std::make_reverse_iterator(end), std::make_reverse_iterator(end - count)};
}

std::int64_t EventRing::floor() const {
    const std::lock_guard lock(mutex_);
    return floor_;
}

std::int64_t EventRing::last_id() const {
    const std::lock_guard lock(mutex_);
    return last_id_;
}

}  // namespace muster

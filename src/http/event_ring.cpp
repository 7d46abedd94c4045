#include "http/event_ring.h"

#include <algorithm>

#include "base/varint.h"

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
    if (size_ == capacity_) drop_first();
    if (chunks_.empty() || chunks_.back().count == chunk_events) {
        if (!chunks_.empty()) chunks_.back().bytes.shrink_to_fit();
        chunks_.emplace_back();
    }
    Chunk& chunk = chunks_.back();
    put_varint(chunk.bytes, zigzag(event.id - chunk.last_id));
    put_varint(chunk.bytes, zigzag(event.time.value - chunk.last_time));
    put_varint(chunk.bytes, number_of(event.type));
    put_varint(chunk.bytes, event.fields.size());
    chunk.bytes += event.fields;
    chunk.last_id = event.id;
    chunk.last_time = event.time.value;
    ++chunk.count;
    ++size_;
    last_id_ = event.id;
}

void EventRing::drop_first() {
    const std::string& bytes = chunks_.front().bytes;
    dropped_.rest = std::string_view(bytes).substr(dropped_bytes_);
    dropped_.next();
    dropped_bytes_ = bytes.size() - dropped_.rest.size();
    floor_ = dropped_.id;
    --size_;
    if (floor_ != chunks_.front().last_id) return;
    chunks_.pop_front();
    dropped_ = {};
    dropped_bytes_ = 0;
}

bool EventRing::Reader::next() {
    std::uint64_t ahead = 0;
    std::uint64_t later = 0;
    std::uint64_t length = 0;
    const bool is_there = take_varint(rest, ahead) && take_varint(rest, later) && take_varint(rest, type) &&
                          take_varint(rest, length) && length <= rest.size();
    if (!is_there) return false;
    id += unzigzag(ahead);
    time += unzigzag(later);
    fields = rest.substr(0, length);
    rest.remove_prefix(length);
    return true;
}

std::uint64_t EventRing::number_of(const std::string& type) {
    const auto found = std::find(types_.begin(), types_.end(), type) - types_.begin();
    if (static_cast<std::size_t>(found) == types_.size()) types_.push_back(type);
    return static_cast<std::uint64_t>(found);
}

EventRing::Event EventRing::event_of(const Reader& at) const {
    return std::make_shared<const EventRecord>(
        EventRecord{at.id, UnixMs{at.time}, types_[at.type], std::string(at.fields)});
}

std::vector<EventRing::Event> EventRing::after(std::int64_t id, std::size_t limit) const {
    const std::lock_guard lock(mutex_);
    const std::int64_t beyond = std::max(id, floor_);
    std::vector<Event> found;
    auto chunk = std::upper_bound(chunks_.begin(), chunks_.end(), beyond,
                                  [](std::int64_t wanted, const Chunk& one) { return wanted < one.last_id; });
    for (; chunk != chunks_.end() && found.size() < limit; ++chunk) {
        Reader reader{chunk->bytes};
        while (found.size() < limit && reader.next())
            if (reader.id > beyond) found.push_back(event_of(reader));
    }
    return found;
}

std::vector<EventRing::Event> EventRing::before(std::int64_t id, std::size_t limit) const {
    const std::lock_guard lock(mutex_);
    std::vector<Event> found;
    auto chunk = std::lower_bound(chunks_.begin(), chunks_.end(), id,
                                  [](const Chunk& one, std::int64_t wanted) { return one.last_id < wanted; });
    if (chunk != chunks_.end()) ++chunk;  // it may begin before the id
    while (chunk != chunks_.begin() && found.size() < limit) {
        --chunk;
        std::vector<Reader> events;
        Reader reader{chunk->bytes};
        while (reader.next() && reader.id < id)
            if (reader.id > floor_) events.push_back(reader);
        for (; !events.empty() && found.size() < limit; events.pop_back()) found.push_back(event_of(events.back()));
    }
    return found;
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

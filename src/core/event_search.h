// Questions to the event history, for whoever keeps it: which events, from where, and how many.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/packed_fields.h"
#include "core/records.h"

namespace muster {

// What is left empty matches everything.
struct EventFilter {
    std::vector<std::string> types{};  // beginnings: "match." or "server.offline"
    std::optional<std::int64_t> server{};
    std::optional<std::int64_t> lobby{};
    std::optional<std::int64_t> player{};
    std::optional<std::int64_t> since_ms{};  // at or after
    std::optional<std::int64_t> until_ms{};  // before

    bool matches_type(std::string_view type) const {
        const auto begins = [type](const std::string& beginning) { return type.starts_with(beginning); };
        return types.empty() || std::any_of(types.begin(), types.end(), begins);
    }
    bool matches_time(UnixMs time) const {
        return (!since_ms || time.value >= *since_ms) && (!until_ms || time.value < *until_ms);
    }
    // `has(name, value)` says whether the event has this integer.
    template <class Has>
    bool matches_ids(Has has) const {
        return (!server || has("server_id", *server)) && (!lobby || has("lobby_id", *lobby)) &&
               (!player || has("player_id", *player));
    }
    bool matches(const EventRecord& event) const {
        return matches_time(event.time) && matches_type(event.type) &&
               matches_ids(
                   [&](std::string_view name, std::int64_t value) { return has_integer(event.fields, name, value); });
    }
};

struct EventSearch {
    enum class Towards : std::uint8_t { newer, older };
    Towards towards = Towards::newer;
    std::int64_t from = 0;  // events beyond this id, in that direction
    std::size_t limit = 0;  // at most so many are found
    EventFilter filter{};
    std::size_t looked_at_max = std::numeric_limits<std::size_t>::max();  // and so many looked at
};

// In the direction of the search.
struct EventsFound {
    std::vector<EventRecord> events{};
    std::int64_t reached = 0;  // the id up to which was looked: a further search goes on from here
    bool is_end = false;       // nothing beyond it can match
};

// One search over events that are told one by one, in the search's direction: by id, and times grow with ids.
class EventWalk {
public:
    explicit EventWalk(const EventSearch& search) : search_(search) { found_.reached = search.from; }

    // Whether another event may be told.
    bool wants_more() const {
        return !found_.is_end && found_.events.size() < search_.limit && looked_at_ < search_.looked_at_max;
    }
    // `event` has id(), time(), type(), has(name, value) and record(), which is asked for only when it matches.
    template <class Event>
    void tell(const Event& event) {
        const EventFilter& filter = search_.filter;
        const bool is_newer = search_.towards == EventSearch::Towards::newer;
        const std::int64_t time = event.time().value;
        if (is_newer ? filter.until_ms && time >= *filter.until_ms : filter.since_ms && time < *filter.since_ms) {
            found_.is_end = true;
            return;
        }
        found_.reached = event.id();
        ++looked_at_;
        if (filter.matches_time(event.time()) && filter.matches_type(event.type()) &&
            filter.matches_ids([&](std::string_view name, std::int64_t value) { return event.has(name, value); }))
            found_.events.push_back(event.record());
    }
    // No event is left.
    void end() { found_.is_end = true; }
    bool is_end() const { return found_.is_end; }

    EventsFound take() { return std::move(found_); }

private:
    const EventSearch& search_;
    EventsFound found_;
    std::size_t looked_at_ = 0;
};

// A record as an EventWalk takes it.
struct RecordedEvent {
    const EventRecord& event;

    std::int64_t id() const { return event.id; }
    UnixMs time() const { return event.time; }
    std::string_view type() const { return event.type; }
    bool has(std::string_view name, std::int64_t value) const { return has_integer(event.fields, name, value); }
    const EventRecord& record() const { return event; }
};

}  // namespace muster

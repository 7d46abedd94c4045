#include "http/event_query.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "base/json_fields.h"
#include "http/page_query.h"

namespace muster {
namespace {

constexpr std::size_t chunk = 512;
constexpr std::size_t types_max = 16;

// Whether the event's fields, which we wrote ourselves, have `"name":value`. Inside a text no quote stands without its
// backslash, so no text can look like a field.
bool has(const EventRecord& event, std::string_view name, std::int64_t value) {
    const std::string wanted = fmt::format("\"{}\":{}", name, value);
    const std::size_t at = event.fields.find(wanted);
    if (at == std::string::npos) return false;
    const std::size_t end = at + wanted.size();
    return end < event.fields.size() && (event.fields[end] == ',' || event.fields[end] == '}');
}

Result<std::vector<std::string>, std::string> types_of(const std::string& text) {
    std::vector<std::string> types;
    std::string_view rest = text;
    while (!rest.empty()) {
        const std::string_view one = rest.substr(0, rest.find(','));
        rest.remove_prefix(std::min(one.size() + 1, rest.size()));
        if (!one.empty()) types.emplace_back(one);
    }
    if (types.size() > types_max) return Failure(fmt::format("At most {} types", types_max));
    return types;
}

// Walks through events one by one in one direction, from wherever they are, and gathers those that match.
class Walk {
public:
    Walk(const EventQuery& query, const EventRing& ring, EventArchive* archive)
        : query_(query), ring_(ring), archive_(archive) {}

    // False when it takes the archive and there is none.
    bool newer(std::int64_t from) {
        newer_ = true;
        cursor_ = from;
        while (!done_) {
            const bool in_ring = cursor_ >= ring_.floor();
            if (!in_ring && !archive_) return false;
            const std::size_t seen =
                in_ring ? look_at(ring_.after(cursor_, chunk)) : look_at(archive_->after(cursor_, chunk));
            if (done_ || seen == chunk) continue;
            if (in_ring) exhausted_ = done_ = true;
            // What the store does not know yet is in the ring.
            else
                cursor_ = std::max(cursor_, ring_.floor());
        }
        return true;
    }

    bool older(std::int64_t from) {
        cursor_ = from;
        bool in_ring = true;
        while (!done_) {
            if (!in_ring && !archive_) return false;
            const std::size_t seen =
                in_ring ? look_at(ring_.before(cursor_, chunk)) : look_at(archive_->before(cursor_, chunk));
            if (done_ || seen == chunk) continue;
            if (!in_ring || ring_.floor() == 0)
                exhausted_ = done_ = true;
            else if (in_ring)
                cursor_ = std::min(cursor_, ring_.floor() + 1);
            in_ring = false;
        }
        return true;
    }

    std::vector<EventRecord> found;
    // Where to go on; none at the end.
    std::optional<std::int64_t> rest() const { return exhausted_ ? std::nullopt : std::optional(cursor_); }

private:
    static const EventRecord& record(const EventRing::Event& event) { return *event; }
    static const EventRecord& record(const EventRecord& event) { return event; }

    template <class Event>
    std::size_t look_at(const std::vector<Event>& events) {
        for (const Event& one : events) {
            const EventRecord& event = record(one);
            // Times grow with ids: beyond the span that was asked for nothing more can match.
            if (newer_ ? query_.filter.until_ms && event.time.value >= *query_.filter.until_ms
                       : query_.filter.since_ms && event.time.value < *query_.filter.since_ms) {
                exhausted_ = done_ = true;
                break;
            }
            cursor_ = event.id;
            if (query_.filter.matches(event)) found.push_back(event);
            if (found.size() == query_.limit || ++looked_at_ == events_looked_at_max) {
                done_ = true;
                break;
            }
        }
        return events.size();
    }

    const EventQuery& query_;
    const EventRing& ring_;
    EventArchive* archive_;
    std::int64_t cursor_ = 0;
    std::size_t looked_at_ = 0;
    bool newer_ = false;
    bool done_ = false;
    bool exhausted_ = false;
};

std::optional<EventPage> walk(const EventQuery& query, const EventRing& ring, EventArchive* archive) {
    Walk walk(query, ring, archive);
    EventPage page;
    if (query.after) {
        if (!walk.newer(*query.after)) return std::nullopt;
        page.next = walk.rest();
        if (!walk.found.empty()) page.previous = walk.found.front().id;
    } else {
        if (!walk.older(query.before.value_or(std::numeric_limits<std::int64_t>::max()))) return std::nullopt;
        page.previous = walk.rest();
        std::reverse(walk.found.begin(), walk.found.end());
        if (query.before && !walk.found.empty()) page.next = walk.found.back().id;
    }
    page.events = std::move(walk.found);
    return page;
}

}  // namespace

bool EventFilter::matches(const EventRecord& event) const {
    if (since_ms && event.time.value < *since_ms) return false;
    if (until_ms && event.time.value >= *until_ms) return false;
    const auto begins = [&event](const std::string& type) { return event.type.starts_with(type); };
    if (!types.empty() && std::none_of(types.begin(), types.end(), begins)) return false;
    if (server && !has(event, "server_id", *server)) return false;
    if (lobby && !has(event, "lobby_id", *lobby)) return false;
    if (player && !has(event, "player_id", *player)) return false;
    return true;
}

Result<EventQuery, std::string> event_query_of(const HttpRequest& request) {
    QueryReader reader(request);
    EventQuery query;
    query.limit = reader.limit();
    query.after = reader.number("after", 0);
    query.before = reader.number("before", 1);
    query.filter.server = reader.number("server", 1);
    query.filter.lobby = reader.number("lobby", 1);
    query.filter.player = reader.number("player", 1);
    query.filter.since_ms = reader.number("since_ms", 0);
    query.filter.until_ms = reader.number("until_ms", 0);
    const auto types = types_of(reader.text("type"));
    if (const auto error = reader.error()) return Failure(*error);
    if (!types) return Failure(types.error());
    if (query.after && query.before) return Failure(std::string("Either after or before, not both"));
    query.filter.types = *types;
    return query;
}

std::optional<EventPage> page_from_ring(const EventQuery& query, const EventRing& ring) {
    return walk(query, ring, nullptr);
}

EventPage page_of(const EventQuery& query, const EventRing& ring, EventArchive& archive) {
    return *walk(query, ring, &archive);
}

std::string event_json(const EventRecord& event) {
    std::string out =
        fmt::format("{{\"id\":{},\"time_ms\":{},\"type\":{}", event.id, event.time.value, json_quoted(event.type));
    // The fields are an object of their own, "{}" at least.
    if (event.fields.size() > 2) {
        out += ',';
        out.append(event.fields, 1);
    } else {
        out += '}';
    }
    return out;
}

std::string event_page_json(const EventPage& page) {
    std::string out = "{\"events\":[";
    for (const EventRecord& event : page.events) {
        if (out.back() != '[') out += ',';
        out += event_json(event);
    }
    const auto number = [](const std::optional<std::int64_t>& id) { return id ? std::to_string(*id) : "null"; };
    out += fmt::format("],\"next\":{},\"previous\":{}}}\n", number(page.next), number(page.previous));
    return out;
}

}  // namespace muster

#include "http/event_query.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/json_fields.h"
#include "base/packed_fields.h"
#include "http/page_query.h"

namespace muster {
namespace {

constexpr std::size_t chunk = 512;
constexpr std::size_t types_max = 16;

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

// Walks through events in one direction, from wherever they are, and gathers those that match.
class Walk {
public:
    Walk(const EventQuery& query, const EventRing& ring, EventArchive* archive)
        : query_(query), ring_(ring), archive_(archive), left_(query.looked_at_max) {}

    // False when it takes the archive and there is none.
    bool newer(std::int64_t from) {
        cursor_ = from;
        while (wants_more()) {
            if (cursor_ >= ring_.floor()) {
                is_end_ = look_in_ring(EventSearch::Towards::newer);
                continue;
            }
            if (!archive_) return false;
            // What the store does not know yet is in the ring.
            if (look_in_archive(EventSearch::Towards::newer)) cursor_ = std::max(cursor_, ring_.floor());
        }
        return true;
    }

    bool older(std::int64_t from) {
        cursor_ = from;
        if (look_in_ring(EventSearch::Towards::older)) is_end_ = ring_.floor() == 0 || out_of_time_;
        if (!wants_more()) return true;
        if (!archive_) return false;
        cursor_ = std::min(cursor_, ring_.floor() + 1);
        is_end_ = look_in_archive(EventSearch::Towards::older);
        return true;
    }

    std::vector<EventRecord> found;
    // Where to go on; none at the end.
    std::optional<std::int64_t> rest() const { return is_end_ ? std::nullopt : std::optional(cursor_); }

private:
    bool wants_more() const { return !is_end_ && found.size() < query_.limit && left_ > 0; }

    EventSearch search(EventSearch::Towards towards) const {
        return {towards, cursor_, query_.limit - found.size(), query_.filter, left_};
    }

    // Both are true when nothing beyond can match.
    bool look_in_archive(EventSearch::Towards towards) {
        const EventSearch wanted = search(towards);
        EventsFound part = archive_->find(wanted);
        // It tells no count: it stops early only at its end, or when it has looked at all that it may.
        if (!part.is_end && part.events.size() < wanted.limit) left_ = 0;
        return add(std::move(part));
    }

    bool look_in_ring(EventSearch::Towards towards) {
        const EventSearch wanted = search(towards);
        EventWalk walk(wanted);
        for (std::int64_t at = cursor_; walk.wants_more();) {
            const auto events =
                towards == EventSearch::Towards::newer ? ring_.after(at, chunk) : ring_.before(at, chunk);
            for (const EventRing::Event& event : events) {
                if (!walk.wants_more()) break;
                walk.tell(RecordedEvent{*event});
                --left_;
            }
            if (walk.is_end()) out_of_time_ = true;
            if (!walk.wants_more()) break;
            if (events.size() < chunk)
                walk.end();
            else
                at = events.back()->id;
        }
        return add(walk.take());
    }

    bool add(EventsFound&& part) {
        cursor_ = part.reached;
        found.insert(found.end(), std::make_move_iterator(part.events.begin()),
                     std::make_move_iterator(part.events.end()));
        return part.is_end;
    }

    const EventQuery& query_;
    const EventRing& ring_;
    EventArchive* archive_;
    std::int64_t cursor_ = 0;
    std::size_t left_;          // events that may still be looked at
    bool out_of_time_ = false;  // beyond the span of time that was asked for
    bool is_end_ = false;
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
    if (const std::string fields = packed_to_json(event.fields); fields.size() > 2) {
        out += ',';
        out.append(fields, 1);
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

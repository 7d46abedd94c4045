// Questions about the event history, and their answers from the ring in memory and the store behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/event_search.h"
#include "core/views.h"
#include "http/event_ring.h"
#include "http/http_message.h"

namespace muster {

// The history on disk. It may take as long as the disk does, and throws when that cannot be read.
class EventArchive {
public:
    virtual ~EventArchive() = default;
    virtual EventsFound find(const EventSearch& search) = 0;
};

// One question looks at no more events than this: one that matches hardly anything is answered in parts. So many take
// the disk's reader about 0.1 s.
inline constexpr std::size_t events_looked_at_max = 1'000'000;

struct EventQuery {
    EventFilter filter;
    std::size_t limit = 100;
    std::size_t looked_at_max = events_looked_at_max;
    std::optional<std::int64_t> after;   // towards newer ones
    std::optional<std::int64_t> before;  // towards older ones; neither: the newest
};

// Always oldest first.
struct EventPage {
    std::vector<EventRecord> events;
    std::optional<std::int64_t> next;      // `after` this there may be more
    std::optional<std::int64_t> previous;  // `before` this there may be more
};

// ?type=match.,server.&server=1&lobby=2&player=3&since_ms=…&until_ms=…&limit=…&after=ID or &before=ID.
// Fails with what is wrong.
Result<EventQuery, std::string> event_query_of(const HttpRequest& request);

// From the ring alone; none when it takes the archive to answer.
std::optional<EventPage> page_from_ring(const EventQuery& query, const EventRing& ring);
// From both; throws what the archive throws.
EventPage page_of(const EventQuery& query, const EventRing& ring, EventArchive& archive);

// {"id":…,"time_ms":…,"type":…, and the event's own fields}
std::string event_json(const EventRecord& event);
// {"events":[…],"next":…,"previous":…}
std::string event_page_json(const EventPage& page);

}  // namespace muster

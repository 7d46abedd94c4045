#include "http/event_stream.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace muster {
namespace {

constexpr std::size_t events_per_piece = 256;
// How long a reader that lost its connection waits before it comes back.
constexpr int retry_ms = 2'000;

}  // namespace

EventStream::EventStream(const EventRing& ring, const Clock& clock, EventFilter filter,
                         std::optional<std::int64_t> last_seen, std::shared_ptr<HttpQuota> feeds,
                         const IpAddress& reader, std::function<bool()> still_admitted)
    : ring_(ring),
      clock_(clock),
      filter_(std::move(filter)),
      feeds_(std::move(feeds)),
      reader_(reader),
      still_admitted_(std::move(still_admitted)),
      cursor_(last_seen ? *last_seen : ring.last_id()),
      said_(clock.now()),
      asked_(clock.now()) {
    feeds_->take(reader_);
}

EventStream::~EventStream() {
    feeds_->give_back(reader_);
}

bool EventStream::next(std::string& out) {
    const Time now = clock_.now();
    if (now - asked_ >= admittance_every) {
        asked_ = now;
        if (!still_admitted_()) return false;
    }
    const auto events = ring_.after(cursor_, events_per_piece);
    // Asked for after the events were: had some left the ring before they could be taken, it shows.
    const std::int64_t floor = ring_.floor();
    if (!begun_) {
        begun_ = true;
        out += fmt::format("retry: {}\n\n", retry_ms);
        // A place that we never got to is one of another history, of a store that was replaced: it begins at now.
        const std::int64_t last = ring_.last_id();
        const std::int64_t up_to = cursor_ > last ? last : std::max(cursor_, floor);
        if (up_to != cursor_) {
            out += fmt::format("event: gap\ndata: {{\"after\":{},\"up_to\":{}}}\n\n", cursor_, up_to);
            cursor_ = up_to;
        }
    } else if (cursor_ < floor) {
        return false;
    }
    for (const EventRing::Event& event : events) {
        if (out.size() >= bytes_max) break;
        cursor_ = event->id;
        if (!filter_.matches(*event)) continue;
        // The type and the fields are JSON-escaped, so that no line can end before its time.
        out += fmt::format("id: {}\nevent: {}\ndata: {}\n\n", event->id, event->type, event_json(*event));
    }
    if (out.empty() && now - said_ >= keep_alive_every) out += ": still here\n\n";
    if (!out.empty()) said_ = now;
    return true;
}

}  // namespace muster

// The live feed of one reader: server-sent events from the ring (O-2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "base/time.h"
#include "http/event_query.h"
#include "http/event_ring.h"
#include "http/http_message.h"
#include "http/http_quota.h"

namespace muster {

// HTTP thread only. It holds no events, only its position in the ring. A reader that falls behind the ring is
// disconnected. The ring and the clock outlive it.
class EventStream final : public HttpStream {
public:
    // After this long without an event a comment is sent, as a keepalive for proxies and readers.
    static constexpr std::chrono::seconds keep_alive_every{15};
    static constexpr std::chrono::seconds admittance_every{1};

    // Continues after `last_seen`, or starts with new events. When events in between are gone from the ring, it
    // begins with an event `gap` that names the ids it lies between. It counts among `feeds` while it lives, and ends
    // soon after `still_admitted` says no.
    EventStream(const EventRing& ring, const Clock& clock, EventFilter filter, std::optional<std::int64_t> last_seen,
                std::shared_ptr<HttpQuota> feeds, const IpAddress& reader, std::function<bool()> still_admitted);
    ~EventStream() override;

    bool next(std::string& out) override;

private:
    const EventRing& ring_;
    const Clock& clock_;
    const EventFilter filter_;
    const std::shared_ptr<HttpQuota> feeds_;
    const IpAddress reader_;
    const std::function<bool()> still_admitted_;
    std::int64_t cursor_;
    Time said_;
    Time asked_;  // whether it is still admitted
    bool begun_ = false;
};

}  // namespace muster

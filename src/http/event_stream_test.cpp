#include "http/event_stream.h"

#include <string>

#include <doctest/doctest.h>

#include "base/packed_fields.h"
#include "base/virtual_clock.h"

using namespace muster;
using namespace std::chrono_literals;

namespace {

EventRecord stream_event(std::int64_t id, std::string type = "match.ready") {
    PackedFields fields;
    fields.integer("lobby_id", 1);
    return {id, UnixMs{id * 10}, std::move(type), fields.finish()};
}

struct Feeding {
    EventStream stream(std::optional<std::int64_t> last_seen = std::nullopt, EventFilter filter = {}) {
        return EventStream(ring, clock, std::move(filter), last_seen, feeds, reader, [this] { return admitted; });
    }
    static std::string take(EventStream& stream) {
        std::string out;
        CHECK(stream.next(out));
        return out;
    }

    VirtualClock clock;
    bool admitted = true;
    EventRing ring{5};
    std::shared_ptr<HttpQuota> feeds = std::make_shared<HttpQuota>(HttpQuota::Limits{4, 2});
    IpAddress reader = *IpAddress::parse("192.0.2.1");
};

}  // namespace

TEST_CASE_FIXTURE(Feeding, "O-2: a feed begins with what comes from now on, framed as server-sent events") {
    ring.append(stream_event(1));
    EventStream feed = stream();
    CHECK(take(feed) == "retry: 2000\n\n");
    CHECK(take(feed).empty());
    ring.append(stream_event(2));
    ring.append(stream_event(3));
    CHECK(take(feed) ==
          "id: 2\nevent: match.ready\ndata: {\"id\":2,\"time_ms\":20,\"type\":\"match.ready\",\"lobby_id\":1}\n\n"
          "id: 3\nevent: match.ready\ndata: {\"id\":3,\"time_ms\":30,\"type\":\"match.ready\",\"lobby_id\":1}\n\n");
    CHECK(take(feed).empty());
}

TEST_CASE_FIXTURE(Feeding, "O-2: a feed resumes after the last event its reader has seen") {
    for (int id = 1; id <= 4; ++id) ring.append(stream_event(id));
    EventStream feed = stream(2);
    const std::string first = take(feed);
    CHECK(first.starts_with("retry: 2000\n\nid: 3\n"));
    CHECK(first.find("id: 4\n") != std::string::npos);
    CHECK(first.find("id: 2\n") == std::string::npos);
    CHECK(first.find("gap") == std::string::npos);
}

TEST_CASE_FIXTURE(Feeding, "O-2: a feed that resumes too late is told of the gap first") {
    for (int id = 1; id <= 9; ++id) ring.append(stream_event(id));
    EventStream feed = stream(2);
    CHECK(take(feed).starts_with("retry: 2000\n\nevent: gap\ndata: {\"after\":2,\"up_to\":4}\n\nid: 5\n"));
}

TEST_CASE_FIXTURE(Feeding, "O-2: a feed that resumes from another history is told so, and begins at now") {
    ring.append(stream_event(1));
    EventStream feed = stream(77);
    CHECK(take(feed) == "retry: 2000\n\nevent: gap\ndata: {\"after\":77,\"up_to\":1}\n\n");
    ring.append(stream_event(2));
    CHECK(take(feed).starts_with("id: 2\n"));
}

TEST_CASE_FIXTURE(Feeding, "O-2: a reader that the ring has gone on without is dropped") {
    EventStream feed = stream();
    take(feed);
    for (int id = 1; id <= 5; ++id) ring.append(stream_event(id));
    std::string out;
    CHECK(feed.next(out));  // just in time
    for (int id = 6; id <= 11; ++id) ring.append(stream_event(id));
    out.clear();
    CHECK_FALSE(feed.next(out));
}

TEST_CASE_FIXTURE(Feeding, "O-2: a feed gives only what was asked for, and does not stop at the rest") {
    EventFilter filter;
    filter.types = {"server."};
    EventStream feed = stream(std::nullopt, filter);
    take(feed);
    ring.append(stream_event(1, "match.ready"));
    CHECK(take(feed).empty());
    ring.append(stream_event(2, "server.offline"));
    CHECK(take(feed).starts_with("id: 2\nevent: server.offline\n"));
}

TEST_CASE_FIXTURE(Feeding, "O-2: a quiet feed says every 15 s that it lives") {
    EventStream feed = stream();
    take(feed);
    clock.advance(14'999ms);
    CHECK(take(feed).empty());
    clock.advance(1ms);
    CHECK(take(feed) == ": still here\n\n");
    CHECK(take(feed).empty());
    clock.advance(15s);
    CHECK(take(feed) == ": still here\n\n");
}

TEST_CASE_FIXTURE(Feeding, "O-2: open feeds are counted until they end") {
    {
        EventStream one = stream();
        EventStream two = stream();
        CHECK(feeds->refusal(reader) == HttpRefusal::per_ip);
    }
    CHECK_FALSE(feeds->refusal(reader));
}

TEST_CASE_FIXTURE(Feeding, "S-5: the feed of an operator that was removed ends within a second") {
    EventStream feed = stream();
    take(feed);
    admitted = false;
    ring.append(stream_event(1));
    clock.advance(1s);
    std::string out;
    CHECK_FALSE(feed.next(out));
    CHECK(out.empty());
}

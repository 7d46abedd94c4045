#include "core/heartbeats.h"

#include <doctest/doctest.h>

#include "core/player_fixture.h"

namespace muster {
namespace {

using namespace muster::testing;

struct BeatingWorld : CoreWorld {
    BeatingWorld() : CoreWorld({}, [](CoreConfig& config) { config.players.heartbeats = {true, 5s, 2}; }) {}

    int failures(const TestPlayer& player) const { return core->players().find(player.id)->failed_heartbeats; }
    bool exists(const TestPlayer& player) const { return core->players().find(player.id).has_value(); }

    // To the end of the present interval; the request that opens the next one.
    std::uint32_t next_request(const TestPlayer& player) {
        advance(5s);
        answer_pings(*this, player);
        return next<EntityHeartbeat>(player.link).request_id;
    }
};

TEST_CASE_FIXTURE(CoreWorld, "H-5: heartbeats are off by default") {
    const TestPlayer ann = log_in(*this, "ann");
    advance(26s);
    CHECK(quiet(ann.link));
}

TEST_CASE_FIXTURE(BeatingWorld, "H-1, H-2: each entity is asked every interval, with a new number each time") {
    const TestPlayer ann = log_in(*this, "ann");
    advance(4'999ms);
    CHECK(quiet(ann.link));
    advance(1ms);
    const auto first = next<EntityHeartbeat>(ann.link);
    send(ann.link, EntityHeartbeatAnswer{first.request_id, 1});
    CHECK(next_request(ann) != first.request_id);
    CHECK(failures(ann) == 0);
}

TEST_CASE_FIXTURE(BeatingWorld, "H-2: an entity that takes a place is not asked at its last user's time") {
    const TestPlayer ann = log_in(*this, "ann");
    advance(3s);
    send(ann.link, PlayerLogout{});
    const TestPlayer bob = log_in(*this, "bob");
    advance(4'999ms);
    CHECK(quiet(bob.link));
    advance(1ms);
    next<EntityHeartbeat>(bob.link);
}

TEST_CASE_FIXTURE(BeatingWorld, "H-3: success after failure sets the count to 0") {
    const TestPlayer ann = log_in(*this, "ann");
    next_request(ann);
    next_request(ann);
    CHECK(failures(ann) == 1);
    const std::uint32_t third = next_request(ann);
    CHECK(failures(ann) == 2);
    send(ann.link, EntityHeartbeatAnswer{third, 1});
    next_request(ann);
    CHECK(failures(ann) == 0);
}

TEST_CASE_FIXTURE(BeatingWorld, "H-3, H-4: failures up to the limit are borne, one more deletes, once") {
    const TestPlayer ann = log_in(*this, "ann");
    const Time came = clock.now();
    next_request(ann);
    next_request(ann);
    next_request(ann);
    CHECK(failures(ann) == 2);
    CHECK(exists(ann));
    advance(5s);
    CHECK_FALSE(exists(ann));
    CHECK(clock.now() - came == 20s);  // H-5: (2 + 2) × 5 s
    next<EntityHeartbeat>(ann.link);
    CHECK(close_reason(*this, ann.link) == "Heartbeat failed");
    CHECK(closed(ann.link));
    CHECK(events_named("entity.deleted") == 1);
    CHECK(events_named("player.closed") == 1);
    disconnect(ann.link);
    advance(1min);
    CHECK(events_named("entity.deleted") == 1);
}

TEST_CASE_FIXTURE(BeatingWorld,
                  "H-3: several answers in one pass count once, and one success among failures is enough") {
    const TestPlayer ann = log_in(*this, "ann");
    next_request(ann);
    const std::uint32_t request = next_request(ann);
    CHECK(failures(ann) == 1);
    in_pass([&](const Pass& pass) {
        for (const int status : {0, 1, 0, 1}) {
            std::vector<std::byte> frame;
            encode(EntityHeartbeatAnswer{request, static_cast<std::uint8_t>(status)}, ByteOrder::big, frame);
            core->frame(pass, ann.link,
                        PeerFrame{EntityHeartbeatAnswer::code, std::span(frame).subspan(4), pass.now, 0});
        }
    });
    next_request(ann);
    CHECK(failures(ann) == 0);
    const std::uint32_t last = next_request(ann);
    CHECK(failures(ann) == 1);
    for (int i = 0; i < 5; ++i) send(ann.link, EntityHeartbeatAnswer{last, 0});
    next_request(ann);
    CHECK(failures(ann) == 2);
}

TEST_CASE_FIXTURE(BeatingWorld, "H-3: a failed status, a wrong number and a late answer are no success") {
    const TestPlayer ann = log_in(*this, "ann");
    const std::uint32_t first = next_request(ann);
    send(ann.link, EntityHeartbeatAnswer{first, 2});
    send(ann.link, EntityHeartbeatAnswer{first + 1, 1});
    send(ann.link, EntityHeartbeatAnswer{first - 1, 1});
    next_request(ann);
    CHECK(failures(ann) == 1);
    send(ann.link, EntityHeartbeatAnswer{first, 1});  // late
    next_request(ann);
    CHECK(failures(ann) == 2);
}

TEST_CASE_FIXTURE(BeatingWorld, "H-3: an answer in the very pass that ends its interval still counts") {
    const TestPlayer ann = log_in(*this, "ann");
    const std::uint32_t first = next_request(ann);
    clock.advance(5s);
    send(ann.link, EntityHeartbeatAnswer{first, 1});
    CHECK(failures(ann) == 0);
    CHECK(next<EntityHeartbeat>(ann.link).request_id == first + 1);
}

TEST_CASE_FIXTURE(BeatingWorld, "H-3: in the resume grace the count stands still, and its end deletes the entity") {
    const TestPlayer ann = log_in(*this, "ann");
    next_request(ann);
    next_request(ann);
    CHECK(failures(ann) == 1);
    disconnect(ann.link);
    advance(29s);
    CHECK(failures(ann) == 1);
    const TestPlayer back = log_in(*this, "ann", ann.resume_token);
    const std::uint32_t request = next_request(back);
    CHECK(failures(back) == 1);
    send(back.link, EntityHeartbeatAnswer{request, 1});
    next_request(back);
    CHECK(failures(back) == 0);
    disconnect(back.link);
    advance(30s);
    CHECK_FALSE(exists(back));
    CHECK(events_named("entity.deleted") == 1);
}

TEST_CASE_FIXTURE(BeatingWorld,
                  "H-1: a lost authority stops the asking and forgets the count, a regained one begins anew") {
    const TestPlayer ann = log_in(*this, "ann");
    next_request(ann);
    next_request(ann);
    next_request(ann);
    CHECK(failures(ann) == 2);
    in_pass([&](const Pass&) { CHECK(core->set_authority(ann.id, false)); });
    CHECK(failures(ann) == 0);
    advance(25s);
    answer_pings(*this, ann);
    CHECK(quiet(ann.link));
    in_pass([&](const Pass&) {
        core->set_authority(ann.id, true);
        core->set_authority(ann.id, false);
        core->set_authority(ann.id, true);
    });
    const std::uint32_t request = next_request(ann);
    CHECK(quiet(ann.link));  // asked once, not once for each time it was regained
    send(ann.link, EntityHeartbeatAnswer{request, 1});
    next_request(ann);
    CHECK(failures(ann) == 0);
    CHECK_FALSE(core->set_authority(AccountId(99), false));
}

TEST_CASE("H-3: an answer for an entity that is gone changes nothing") {
    Entities entities;
    Sessions sessions;
    const Sessions::Place place = sessions.add("ann", AccountId(1));
    sessions.at(place).link = {.slot = 0, .generation = 1};
    Heartbeats beats({true, 5s, 0}, entities, sessions);
    const EntityId old = entities.create(place);
    beats.created(old);
    beats.run(Pass{Time(0s), Time(0s)});
    CHECK(entities.remove(old));
    CHECK_FALSE(entities.remove(old));
    const EntityId young = entities.create(place);
    CHECK(young.index == old.index);
    beats.created(young);
    beats.answered(old, {1, 1});
    CHECK(beats.run(Pass{Time(1s), Time(1s)}).requests.empty());
    CHECK(beats.run(Pass{Time(6s), Time(6s)}).requests.size() == 1);
    beats.answered(old, {1, 1});
    CHECK(beats.run(Pass{Time(11s), Time(11s)}).failed == std::vector{young});
}

}  // namespace
}  // namespace muster

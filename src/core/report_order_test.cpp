// The network has an inbox for each port, and core takes them in order of priority: reports of different links reach it
// in any order (fault 32).
#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "core/core_fixture.h"

using namespace muster;
using namespace muster::testing;

namespace {

struct Reports : CoreWorld {
    void opened(ConnectionId id, Port port) {
        links.peers[id].order = default_byte_order(port);
        in_pass([&](const Pass& pass) { core->opened(pass, id, port, IpAddress::v4({10, 0, 0, 9})); });
    }
    bool registers(ConnectionId id, std::int32_t port) {
        send(id, ServerHandshake{"server-secret", {"10.0.0.9", port}, eu, 10});
        return error_of(next<ServerHandshakeResponse>(id)).empty();
    }

    static constexpr std::uint32_t slot = 1'000;
    static constexpr ConnectionId older{slot, 1};
    static constexpr ConnectionId newer{slot, 3};
};

}  // namespace

TEST_CASE_FIXTURE(Reports, "fault 32: a slot's next connection on another port is opened before its last one closed") {
    opened(older, Port::players);
    opened(newer, Port::servers);
    CHECK(core->stale_messages() == 0);
    disconnect(older);
    CHECK(core->stale_messages() == 1);
    CHECK(registers(newer, 7001));
    CHECK(core->fleet().size() == 1);
}

TEST_CASE_FIXTURE(Reports,
                  "fault 32: whoever was in the slot is gone once the next one is, and its late words are stale") {
    opened(older, Port::servers);
    REQUIRE(registers(older, 7001));
    opened(newer, Port::players);
    REQUIRE(core->fleet().size() == 1);
    CHECK(core->fleet().find(ServerId(1))->status() == ServerStatus::offline);

    send(older, ServerHeartbeat{ServerId(1), 0, 1.0F, 1.0F});
    in_pass([&](const Pass& pass) {
        core->malformed(pass, older, WireError::truncated);
        core->gave_up(pass, older, LinkFault::flooded);
        core->paused(pass, older);
        core->resumed(pass, older);
        core->handler_failed(pass, older);
    });
    disconnect(older);
    CHECK(quiet(older));
    CHECK(core->fleet().find(ServerId(1))->status() == ServerStatus::offline);

    send(newer, PlayerLogin{"ann", "", ""});
    CHECK(core->players().sessions().size() == 1);
}

TEST_CASE_FIXTURE(Reports, "fault 32: an end that is heard before its beginning leaves nothing open") {
    disconnect(newer);
    opened(newer, Port::servers);
    send(newer, ServerHandshake{"server-secret", {"10.0.0.9", 7001}, eu, 10});
    CHECK(quiet(newer));
    CHECK(core->fleet().size() == 0);
    CHECK(core->stale_messages() == 3);
}

TEST_CASE("fault 32: reports of a few slots in any order end with who came last") {
    constexpr std::uint32_t slots = 3;
    constexpr std::uint32_t users = 4;
    std::mt19937 random(32);  // NOLINT: the same orders every time
    for (int round = 0; round < 300; ++round) {
        CAPTURE(round);
        Reports world;
        struct Report {
            ConnectionId id;
            bool opened;
        };
        std::vector<Report> reports;
        for (std::uint32_t slot = 0; slot < slots; ++slot) {
            for (std::uint32_t user = 0; user < users; ++user) {
                reports.push_back({{slot, 2 * user + 1}, true});
                if (user + 1 < users) reports.push_back({{slot, 2 * user + 1}, false});
            }
        }
        std::shuffle(reports.begin(), reports.end(), random);
        for (const Report& report : reports) {
            if (!report.opened) {
                world.disconnect(report.id);
                continue;
            }
            world.opened(report.id, ports[random() % ports.size()]);
            world.send(report.id, ServerHeartbeat{ServerId(1), 0, 1.0F, 1.0F});
        }
        // The last user of each slot is the only one core still knows, and it was told that it is not registered.
        for (std::uint32_t slot = 0; slot < slots; ++slot) {
            for (std::uint32_t user = 0; user + 1 < users; ++user) {
                const ConnectionId id{slot, 2 * user + 1};
                const std::uint64_t before = world.core->stale_messages();
                world.disconnect(id);
                CHECK(world.core->stale_messages() == before + 1);
            }
            const ConnectionId last{slot, 2 * users - 1};
            const std::uint64_t before = world.core->stale_messages();
            world.disconnect(last);
            CHECK(world.core->stale_messages() == before);
        }
    }
}

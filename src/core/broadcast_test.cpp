#include "core/broadcast.h"

#include <string>

#include <doctest/doctest.h>

#include "core/core_fixture.h"
#include "protocol/player_messages.h"

namespace muster {
namespace {

using muster::testing::RememberedLinks;

struct CrowdFixture {
    RememberedLinks output;
    VirtualClock clock;
    LoopTime time{clock};
    LinkTable links{output, {ByteOrder::little, ByteOrder::little, ByteOrder::big}};
    Sessions sessions;
    Broadcast broadcast{links, sessions};

    void come(std::uint32_t count) {
        for (std::uint32_t i = 0; i < count; ++i) {
            const auto place = sessions.add("p" + std::to_string(i), AccountId(static_cast<std::int32_t>(i + 1)));
            sessions.at(place).link = link(i);
            output.peers[link(i)].order = ByteOrder::big;
        }
    }
    static ConnectionId link(std::uint32_t i) { return {i, 1}; }
    std::size_t heard(std::uint32_t i) { return output.peers[link(i)].frames.size(); }
    void say(std::uint8_t minute) {
        std::vector<std::byte> frame;
        encode(TimeChange{TimeUnit::minute, minute}, ByteOrder::big, frame);
        broadcast.start(frame);
    }
    std::uint8_t last_minute(std::uint32_t i) {
        return std::to_integer<std::uint8_t>(output.peers[link(i)].frames.back().payload[1]);
    }
};

constexpr auto share = static_cast<std::uint32_t>(Broadcast::per_pass);

TEST_CASE_FIXTURE(CrowdFixture, "C-5: a pass tells its share and no more, until all have heard") {
    come(2 * share + 5);
    say(1);
    CHECK(broadcast.pump() == share);
    CHECK(heard(share - 1) == 1);
    CHECK(heard(share) == 0);
    CHECK(broadcast.pump() == share);
    CHECK(broadcast.busy());
    CHECK(broadcast.pump() == 5);
    CHECK_FALSE(broadcast.busy());
    CHECK(broadcast.pump() == 0);
    CHECK(heard(0) == 1);
    CHECK(heard(2 * share + 4) == 1);
}

TEST_CASE_FIXTURE(CrowdFixture, "C-5: a newer word takes the place of the one that is not out yet") {
    come(share + 1);
    say(1);
    broadcast.pump();
    say(2);
    broadcast.pump();
    broadcast.pump();
    CHECK_FALSE(broadcast.busy());
    CHECK(heard(0) == 2);
    CHECK(last_minute(0) == 2);
    CHECK(heard(share) == 1);
    CHECK(last_minute(share) == 2);
}

TEST_CASE_FIXTURE(CrowdFixture, "C-5: who is in its grace or gone is passed over") {
    come(3);
    sessions.at(1).link = {};
    sessions.remove(2);
    say(1);
    CHECK(broadcast.pump() == 1);
    CHECK(heard(0) == 1);
}

}  // namespace
}  // namespace muster

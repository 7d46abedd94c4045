#include "core/link_table.h"

#include <doctest/doctest.h>

#include "core/core_fixture.h"

using namespace muster;
using namespace muster::testing;

namespace {

struct Links3 {
    RememberedLinks output;
    LinkTable table{output, {ByteOrder::little, ByteOrder::little, ByteOrder::big}};
    Link& link = *table.opened({5, 1}, Port::matchmakers, IpAddress());
};

const MatchPlayersResponse word{LobbyAccepted{LobbyId(1)}};

}  // namespace

TEST_CASE_FIXTURE(Links3,
                  "fault 46: what is meant for a connection that is gone does not reach the next user of its slot") {
    const ConnectionId gone = link.id;
    table.closed(gone);
    CHECK(table.opened({5, 2}, Port::matchmakers, IpAddress()) != nullptr);
    table.send(gone, word);
    CHECK(output.peers[{5, 1}].frames.empty());
    CHECK(output.peers[{5, 2}].frames.empty());
    table.send(ConnectionId{5, 2}, word);
    CHECK(output.peers[{5, 2}].frames.size() == 1);
    CHECK(table.size() == 1);
}

TEST_CASE_FIXTURE(Links3, "P-5: nothing follows the last word") {
    table.close(link);
    table.send(link.id, word);
    std::vector<std::byte> frame;
    encode(word, ByteOrder::little, frame);
    table.send_frame(link.id, frame);
    CHECK(output.peers[link.id].frames.empty());
    CHECK(output.peers[link.id].closed);
}

TEST_CASE_FIXTURE(Links3, "fault 32: what a slot's newer connection has outlived opens, closes and finds nothing") {
    const ConnectionId old = link.id;
    const ConnectionId newer{5, 3};
    CHECK(table.outlived_by(old) == nullptr);
    CHECK(table.outlived_by(newer) == &link);
    CHECK(table.opened(newer, Port::players, IpAddress()) == nullptr);  // the old one is still there
    CHECK(table.find(old) == &link);

    CHECK(table.closed(old));
    CHECK(table.find(old) == nullptr);
    CHECK(table.outlived_by(newer) == nullptr);
    Link* opened = table.opened(newer, Port::players, IpAddress());
    REQUIRE(opened != nullptr);
    CHECK(opened->port == Port::players);

    CHECK_FALSE(table.closed(old));
    CHECK(table.opened(old, Port::matchmakers, IpAddress()) == nullptr);
    CHECK(table.opened(newer, Port::players, IpAddress()) == nullptr);
    CHECK(table.find(newer) == opened);
    CHECK(table.size() == 1);
}

TEST_CASE_FIXTURE(Links3, "fault 32: a connection whose end was heard first is not opened any more") {
    CHECK_FALSE(table.closed({9, 1}));
    CHECK(table.opened({9, 1}, Port::players, IpAddress()) == nullptr);
    CHECK(table.opened({9, 3}, Port::players, IpAddress()) != nullptr);
    CHECK(table.size() == 2);
}

TEST_CASE_FIXTURE(Links3, "fault 32: generations count round") {
    constexpr std::uint32_t last = 0xFFFF'FFFF;
    for (const std::uint32_t generation : {0x7FFF'FFFFu, 0xFFFF'FFFDu, last, 1u}) {
        REQUIRE(table.opened({6, generation}, Port::players, IpAddress()) != nullptr);
        CHECK(table.closed({6, generation}));
    }
    CHECK(table.opened({6, last}, Port::players, IpAddress()) == nullptr);
}

#include "core/link_table.h"

#include <doctest/doctest.h>

#include "core/core_fixture.h"

using namespace muster;
using namespace muster::testing;

namespace {

struct Links3 {
    VirtualClock clock;
    RememberedLog lines;
    Log log{clock, lines, LogLevel::debug};
    GameLoop loop{clock, log};
    RememberedLinks output;
    std::vector<std::int32_t> left;
    std::vector<std::int32_t> late;
    LinkTable table{loop.time(),
                    output,
                    {ByteOrder::little, ByteOrder::little, ByteOrder::big},
                    [this](LobbyId lobby, bool in_time) { (in_time ? left : late).push_back(lobby.value); }};
    Link& link = *table.opened({5, 1}, Port::matchmakers, IpAddress());

    std::vector<std::int32_t> sent() {
        std::vector<std::int32_t> lobbies;
        for (const auto& frame : output.peers[link.id].frames) {
            const auto message = decode<MatchPlayersResponse>(frame.payload, ByteOrder::little);
            lobbies.push_back(std::get<LobbyAccepted>(message->answer).lobby.value);
        }
        return lobbies;
    }
};

MatchPlayersResponse answer_for(std::int32_t lobby) {
    return {LobbyAccepted{LobbyId(lobby)}};
}

}  // namespace

TEST_CASE_FIXTURE(Links3, "W-8: answers leave in the order of their tickets, however they are filled") {
    const Ticket one = table.take_ticket(link);
    const Ticket two = table.take_ticket(link);
    const Ticket three = table.take_ticket(link);
    table.answer(three, answer_for(3), LobbyId(3));
    CHECK(sent().empty());
    table.answer(one, answer_for(1));
    CHECK(sent() == std::vector{1});
    table.answer(link, answer_for(4));
    CHECK(sent() == std::vector{1});
    CHECK(left.empty());
    table.answer(two, answer_for(2));
    CHECK(sent() == std::vector{1, 2, 3, 4});
    CHECK(left == std::vector{3});
    table.answer(link, answer_for(5), LobbyId(5));
    CHECK(sent() == std::vector{1, 2, 3, 4, 5});
    CHECK(left == std::vector{3, 5});
}

TEST_CASE_FIXTURE(Links3, "W-8, fault 63: an answer that is held back for too long leaves as the other one") {
    const auto pass_at = [this](Duration after_start) {
        clock.advance_to(Time{} + after_start);
        loop.turn();
    };
    const Time start = clock.now();
    for (const bool in_time : {true, false}) {
        const Ticket first = table.take_ticket(link);
        const Ticket second = table.take_ticket(link);
        const Time until = clock.now() + 25s;
        table.answer_until(second, until, answer_for(2), answer_for(-2), LobbyId(2));
        pass_at((until - Time{}) + (in_time ? 0ns : 1ns));
        table.answer(first, answer_for(1));
    }
    CHECK(clock.now() > start);
    CHECK(sent() == std::vector{1, 2, 1, -2});
    CHECK(left == std::vector{2});
    CHECK(late == std::vector{2});
    table.answer_until(table.take_ticket(link), clock.now() - 1s, answer_for(3), answer_for(-3), LobbyId(3));
    CHECK(sent().back() == 3);  // nothing held it back: its asker judged it
}

TEST_CASE_FIXTURE(Links3, "W-8: on a link inside our own process answers leave as they come") {
    Link& inside = *table.opened(inside_link(3), Port::matchmakers, IpAddress());
    const Ticket one = table.take_ticket(inside);
    const Ticket two = table.take_ticket(inside);
    table.answer(two, answer_for(2), LobbyId(2));
    CHECK(output.peers[inside_link(3)].frames.size() == 1);
    CHECK(left == std::vector{2});
    table.answer(one, answer_for(1), LobbyId(1));
    CHECK(output.peers[inside_link(3)].frames.size() == 2);
    CHECK(left == std::vector{2, 1});
}

TEST_CASE_FIXTURE(Links3, "W-8: a ticket of a link that is gone, closing or reused answers nobody") {
    const Ticket ticket = table.take_ticket(link);
    table.closed(link.id);
    table.answer(ticket, answer_for(1));
    CHECK(output.peers[{5, 1}].frames.empty());
    CHECK(table.opened({5, 2}, Port::matchmakers, IpAddress()) != nullptr);
    table.answer(ticket, answer_for(1));
    CHECK(output.peers[{5, 2}].frames.empty());
    CHECK(table.size() == 1);
}

TEST_CASE_FIXTURE(Links3, "P-5: nothing follows the last word") {
    const Ticket ticket = table.take_ticket(link);
    table.close(link);
    table.answer(ticket, answer_for(1));
    table.send(link.id, answer_for(2));
    CHECK(sent().empty());
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

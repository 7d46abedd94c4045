#include "core/link_table.h"

#include <doctest/doctest.h>

#include "core/core_fixture.h"

using namespace muster;
using namespace muster::testing;

namespace {

struct Links3 {
    RememberedLinks output;
    std::vector<std::int32_t> left;
    LinkTable table{output, {ByteOrder::little, ByteOrder::little, ByteOrder::big}, [this](LobbyId lobby) {
                        left.push_back(lobby.value);
                    }};
    Link& link = table.opened({5, 1}, Port::managers, IpAddress());

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

TEST_CASE_FIXTURE(Links3, "W-8: on a link inside our own process answers leave as they come") {
    Link& inside = table.opened(inside_link(3), Port::managers, IpAddress());
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
    table.opened({5, 2}, Port::managers, IpAddress());
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

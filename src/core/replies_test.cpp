#include "core/replies.h"

#include <doctest/doctest.h>

#include "core/core_fixture.h"

using namespace muster;
using namespace muster::testing;

namespace {

struct Answering {
    RememberedLinks output;
    LinkTable links{output, {ByteOrder::little, ByteOrder::little, ByteOrder::big}};
    Replies replies{links};
    ConnectionId link = links.opened({5, 1}, Port::matchmakers, IpAddress())->id;

    // The lobbies of the answers that have left; a refusal's is negative.
    std::vector<std::int32_t> sent() {
        std::vector<std::int32_t> lobbies;
        for (const auto& frame : output.peers[link].frames) {
            const auto message = decode<MatchPlayersResponse>(frame.payload, ByteOrder::little);
            const auto* accepted = std::get_if<LobbyAccepted>(&message->answer);
            lobbies.push_back(accepted ? accepted->lobby.value : -std::get<LobbyRefused>(message->answer).lobby.value);
        }
        return lobbies;
    }
};

MatchPlayersResponse yes(std::int32_t lobby) {
    return {LobbyAccepted{LobbyId(lobby)}};
}
MatchPlayersResponse no(std::int32_t lobby) {
    return {LobbyRefused{LobbyId(lobby), "no"}};
}

}  // namespace

TEST_CASE_FIXTURE(Answering, "W-8: an answer leaves as soon as it is known, and a slow one holds up no other lobby's") {
    const ReplyTo one = replies.expect(link, LobbyId(1));
    const ReplyTo two = replies.expect(link, LobbyId(2));
    replies.answer(two, yes(2));
    CHECK(sent() == std::vector{2});
    replies.answer_at_once(link, LobbyId(3), yes(3));
    CHECK(sent() == std::vector{2, 3});
    replies.answer(one, yes(1));
    CHECK(sent() == std::vector{2, 3, 1});
    CHECK(replies.size() == 0);
}

TEST_CASE_FIXTURE(Answering, "W-8: answers that name the same lobby leave in the order asked, however they are known") {
    const ReplyTo first = replies.expect(link, LobbyId(1));
    const ReplyTo second = replies.expect(link, LobbyId(1));
    replies.answer_at_once(link, LobbyId(1), no(1));
    replies.answer(second, yes(1));
    CHECK(sent().empty());
    CHECK(replies.size() == 3);
    replies.answer(first, yes(1));
    CHECK(sent() == std::vector{1, 1, -1});
    replies.answer_at_once(link, LobbyId(1), no(1));
    CHECK(sent() == std::vector{1, 1, -1, -1});
}

TEST_CASE_FIXTURE(Answering, "W-8: two links that ask about one lobby do not wait for each other") {
    const ConnectionId other = links.opened({6, 1}, Port::matchmakers, IpAddress())->id;
    replies.expect(link, LobbyId(1));
    replies.answer(replies.expect(other, LobbyId(1)), yes(1));
    CHECK(sent().empty());
    CHECK(output.peers[other].frames.size() == 1);
}

TEST_CASE_FIXTURE(Answering, "W-8: an answer for a link that is gone, closing or reused reaches nobody") {
    const ReplyTo late = replies.expect(link, LobbyId(-7));
    const ReplyTo later = replies.expect(link, LobbyId(7));
    links.closed(link);
    replies.closed(link);
    CHECK(replies.size() == 0);
    replies.answer(late, yes(1));
    const ConnectionId next = links.opened({5, 2}, Port::matchmakers, IpAddress())->id;
    replies.answer(later, yes(1));
    CHECK(output.peers[next].frames.empty());

    const ReplyTo unheard = replies.expect(next, LobbyId(1));
    links.close(*links.find(next));
    replies.answer(unheard, yes(1));
    CHECK(output.peers[next].frames.empty());
}

TEST_CASE_FIXTURE(Answering, "A-8: a question from inside the process gets its verdict as a value") {
    replies.answer(ReplyTo::question(4), LobbyId(1), Failure(Refusal::server_busy));
    replies.answer(ReplyTo::question(3), LobbyId(1),
                   AllocationResponse::Accepted{LobbyId(1), ServerId(9), GameEndpoint{"10.0.0.1", 7}, "t", UnixMs{5}});
    const auto answered = replies.take_answered();
    REQUIRE(answered.size() == 2);
    CHECK(answered[0].number == 4);
    CHECK(answered[0].verdict.error() == Refusal::server_busy);
    CHECK(answered[1].verdict->server == ServerId(9));
    CHECK(replies.take_answered().empty());
    CHECK(sent().empty());
}

TEST_CASE_FIXTURE(Answering, "fault 25: of a hundred thousand answers about one lobby, each is found without a walk") {
    constexpr int asked = 100'000;
    std::vector<ReplyTo> waiting;
    for (int i = 0; i < asked; ++i) waiting.push_back(replies.expect(link, LobbyId(1)));
    // The latest first: none may leave before the oldest is known. A walk for each would take minutes.
    for (auto to = waiting.rbegin(); to != waiting.rend(); ++to) {
        CHECK(sent().empty());
        replies.answer(*to, yes(1));
        if (to - waiting.rbegin() > 10) break;
    }
    for (int i = 0; i < asked - 12; ++i) replies.answer(waiting[static_cast<std::size_t>(asked - 13 - i)], yes(1));
    CHECK(replies.size() == 0);
    CHECK(sent().size() == asked);
}

TEST_CASE_FIXTURE(Answering, "W-8, fault 5: who asks the same again waits with the last one, and with no other") {
    const ReplyTo first = replies.expect(link, LobbyId(1), 7);
    CHECK_FALSE(replies.join(link, LobbyId(1), 8));
    CHECK_FALSE(replies.join(link, LobbyId(2), 7));
    CHECK(replies.join(link, LobbyId(1), 7));
    CHECK(replies.join(link, LobbyId(1), 7));
    const ReplyTo other = replies.expect(link, LobbyId(1), 8);
    CHECK_FALSE(replies.join(link, LobbyId(1), 7));  // it would leave before the other one
    CHECK(replies.size(link) == 2);
    replies.answer(other, no(1));
    CHECK_FALSE(replies.join(link, LobbyId(1), 8));  // known already
    CHECK(sent().empty());
    replies.answer(first, yes(1));
    CHECK(sent() == std::vector{1, 1, 1, -1});
    CHECK(replies.size() == 0);
    CHECK(replies.size(link) == 0);
    CHECK_FALSE(replies.join(link, LobbyId(1), 7));
}

TEST_CASE_FIXTURE(Answering, "W-8, fault 5: equal answers in a row are kept once, and leave as often as asked for") {
    const ReplyTo first = replies.expect(link, LobbyId(1));
    for (int i = 0; i < 1'000; ++i) replies.answer_at_once(link, LobbyId(1), no(1));
    CHECK(replies.size() == 2);
    replies.answer_at_once(link, LobbyId(1), yes(1));
    replies.answer_at_once(link, LobbyId(1), no(1));
    CHECK(replies.size() == 4);
    replies.answer(first, yes(1));
    std::vector<std::int32_t> expected(1'003, -1);
    expected[0] = expected[1'001] = 1;
    CHECK(sent() == expected);
}

TEST_CASE_FIXTURE(Answering,
                  "W-7, fault 5: a link with too many answers behind others is named, and so is the worst of all") {
    const auto fill = [&](ConnectionId on, LobbyId lobby, std::size_t count) {
        replies.expect(on, lobby);
        for (std::size_t i = 0; i < count; ++i) replies.expect(on, lobby);
    };
    for (std::int32_t lobby = 2; lobby < 100; ++lobby) replies.expect(link, LobbyId(lobby));  // the first ones are free
    fill(link, LobbyId(1), Replies::behind_of_matchmaker_max);
    CHECK_FALSE(replies.has_flooding());
    replies.expect(link, LobbyId(1));
    CHECK(replies.take_flooding() == std::vector{link});
    replies.closed(link);
    CHECK(replies.size() == 0);

    // None has too many, all together do.
    const std::size_t each = Replies::behind_of_matchmaker_max - 1;
    std::uint32_t slot = 10;
    for (std::size_t behind = 0; behind + each <= Replies::behind_max; behind += each)
        fill(links.opened({slot++, 1}, Port::matchmakers, IpAddress())->id, LobbyId(1), each);
    const ConnectionId server = links.opened({slot, 1}, Port::servers, IpAddress())->id;
    fill(server, LobbyId(1), Replies::behind_max % each);
    CHECK_FALSE(replies.has_flooding());
    replies.expect(server, LobbyId(1));
    CHECK(replies.take_flooding() == std::vector{ConnectionId{10, 1}});
    replies.closed({10, 1});
    replies.expect(server, LobbyId(1));
    CHECK_FALSE(replies.has_flooding());
}

#include "relay/peer_book.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "protocol/error_texts.h"
#include "protocol/host_messages.h"
#include "relay/relay_fixture.h"

using namespace muster;
using Passing = PeerBook::Passing;
using State = PeerBook::Peer::State;

namespace {

constexpr ConnectionId game_server{1, 1};
constexpr ConnectionId matchmaker{2, 1};
constexpr ConnectionId player{3, 1};

ServerHandshakeResponse accepted_as(std::int32_t server) {
    ServerHandshakeResponse response;
    response.answer = ServerHandshakeResponse::Accepted{ServerId(server), UnixMs{5}};
    return response;
}

struct Booked {
    Booked() {
        book.opened(game_server, Port::servers, *IpAddress::parse("10.0.0.1"), "");
        book.opened(matchmaker, Port::matchmakers, *IpAddress::parse("10.0.0.2"), "");
        book.opened(player, Port::players, *IpAddress::parse("10.0.0.3"), "");
    }
    template <Message M>
    void hears(ConnectionId from, const M& message) {
        book.heard(from, M::code, payload_of(message));
    }
    template <Message M>
    Passing tells(ConnectionId to, const M& message) {
        const auto frame = frame_of(message);
        return book.told(to, frame, default_byte_order(M::port));
    }
    void greet_server(std::int32_t id) {
        hears(game_server, ServerHandshake{});
        CHECK(tells(game_server, accepted_as(id)) == Passing::pass);
        book.flushed();
    }
    std::vector<ConnectionId> closed_by_owner_change() {
        std::vector<ConnectionId> closed;
        book.owner_lost([&](ConnectionId id) { closed.push_back(id); });
        return closed;
    }
    std::vector<Code> unanswered_of(ConnectionId id) {
        std::vector<Code> codes;
        for (const auto& request : book.find(id)->unanswered) codes.push_back(request.code);
        return codes;
    }

    PeerBook book;
};

}  // namespace

TEST_CASE_FIXTURE(Booked, "N-7: a greeted peer that the next owner accepts as before does not hear of it") {
    greet_server(42);
    CHECK(book.find(game_server)->state == State::greeted);
    CHECK(closed_by_owner_change().empty());
    CHECK(book.find(game_server)->state == State::returning);
    CHECK(tells(game_server, accepted_as(42)) == Passing::swallow);
    CHECK(book.find(game_server)->state == State::greeted);
}

TEST_CASE_FIXTURE(Booked, "N-7: a peer that the next owner refuses, or knows by another number, is closed") {
    greet_server(42);
    static_cast<void>(closed_by_owner_change());
    CHECK(tells(game_server, accepted_as(43)) == Passing::close);
    ServerHandshakeResponse no;
    no.answer = ServerHandshakeResponse::Refused{};
    CHECK(tells(game_server, no) == Passing::close);
}

TEST_CASE_FIXTURE(Booked, "N-7: a handshake that nobody answered is said again, and its answer passes") {
    hears(game_server, ServerHandshake{});
    static_cast<void>(closed_by_owner_change());
    CHECK(book.find(game_server)->state == State::asking);
    CHECK(tells(game_server, accepted_as(7)) == Passing::pass);
}

TEST_CASE_FIXTURE(Booked, "N-4, N-7: an answer that did not leave was not given") {
    hears(game_server, ServerHandshake{});
    CHECK(tells(game_server, accepted_as(7)) == Passing::pass);
    book.discarded();
    book.flushed();
    CHECK(book.find(game_server)->state == State::asking);

    hears(matchmaker, MatchmakerHandshake{});
    hears(matchmaker, asks_for(12));
    CHECK(tells(matchmaker, refused(12)) == Passing::pass);
    CHECK(unanswered_of(matchmaker).size() == 1);
    book.discarded();
    book.flushed();
    CHECK(unanswered_of(matchmaker).size() == 1);
    CHECK(book.unanswered() == 1);
}

TEST_CASE_FIXTURE(Booked, "N-7, fault 85: a request is kept until the answer for its own lobby has left") {
    hears(matchmaker, MatchmakerHandshake{});
    hears(matchmaker, asks_for(12));
    hears(matchmaker, asks_for(13));
    hears(matchmaker, MatchmakerHeartbeat{});
    CHECK(unanswered_of(matchmaker) == std::vector<Code>{0x2002, 0x2002, 0x2004});
    static_cast<void>(tells(matchmaker, refused(13)));
    static_cast<void>(tells(matchmaker, refused(14)));
    book.flushed();
    CHECK(unanswered_of(matchmaker) == std::vector<Code>{0x2002, 0x2004});
    CHECK(book.find(matchmaker)->unanswered.front().payload == payload_of(asks_for(12)));
    book.closed(matchmaker);
    CHECK(book.unanswered() == 0);
}

TEST_CASE_FIXTURE(Booked, "N-7: a cancelled lobby is answered by its abort, by no other event") {
    hears(matchmaker, MatchmakerHandshake{});
    hears(matchmaker, CancelMatch{LobbyId(5)});
    MatchEventNotice event;
    event.lobby = LobbyId(5);
    event.event = MatchEventKind::ready;
    static_cast<void>(tells(matchmaker, event));
    book.flushed();
    CHECK(unanswered_of(matchmaker).size() == 1);
    event.event = MatchEventKind::aborted;
    static_cast<void>(tells(matchmaker, event));
    book.flushed();
    CHECK(unanswered_of(matchmaker).empty());
}

TEST_CASE_FIXTURE(Booked, "N-7, K-3: a token that a lost owner may have used is told as unknown, not as used") {
    greet_server(42);
    const auto comes = [](std::int32_t account) {
        return ValidateToken{ServerId(42), LobbyId(5), AccountId(account), MatchTokenText("MATCH_5")};
    };
    const auto is_refused = [](std::int32_t account, Refusal why) {
        return ValidateTokenResponse{
            ValidateTokenResponse::Refused{LobbyId(5), AccountId(account), ErrorText(text(why))}};
    };
    const ValidateTokenResponse yes{ValidateTokenResponse::Accepted{LobbyId(5), AccountId(1)}};
    hears(game_server, comes(1));
    CHECK(tells(game_server, is_refused(1, Refusal::match_token_already_used)) == Passing::pass);
    static_cast<void>(closed_by_owner_change());
    static_cast<void>(tells(game_server, accepted_as(42)));
    hears(game_server, comes(2));
    CHECK(tells(game_server, is_refused(1, Refusal::match_token_expired)) == Passing::pass);
    book.discarded();
    CHECK(tells(game_server, is_refused(1, Refusal::match_token_already_used)) == Passing::amend);
    const auto unknown = frame_of(is_refused(1, Refusal::store_unavailable));
    CHECK(std::ranges::equal(book.amended(), unknown));
    book.flushed();
    // What was asked of the new owner only, or comes a second time, is what it is.
    hears(game_server, comes(1));
    CHECK(tells(game_server, is_refused(2, Refusal::match_token_already_used)) == Passing::pass);
    CHECK(tells(game_server, is_refused(1, Refusal::match_token_already_used)) == Passing::pass);
    book.flushed();
    CHECK(book.unanswered() == 0);

    hears(game_server, comes(1));
    static_cast<void>(closed_by_owner_change());
    static_cast<void>(tells(game_server, accepted_as(42)));
    hears(game_server, comes(1));
    CHECK(tells(game_server, yes) == Passing::pass);
    CHECK(tells(game_server, is_refused(1, Refusal::match_token_already_used)) == Passing::pass);
    book.flushed();
    CHECK(book.unanswered() == 0);
}

TEST_CASE_FIXTURE(Booked, "N-7: a host, which tells more than its handshake, is closed when the owner changes") {
    hears(game_server, HostHello{});
    CHECK(closed_by_owner_change() == std::vector<ConnectionId>{game_server});
    CHECK(closed_by_owner_change().empty());  // once
    std::size_t told = 0;
    book.for_each_to_tell([&](PeerBook::Peer&) { ++told; });
    CHECK(told == 2);
}

TEST_CASE_FIXTURE(Booked, "N-7: a peer with more unanswered requests than are kept is closed, one with fewer is not") {
    hears(matchmaker, MatchmakerHandshake{});
    for (std::size_t i = 1; i < PeerBook::unanswered_max; ++i)
        hears(matchmaker, asks_for(static_cast<std::int32_t>(i)));
    CHECK(closed_by_owner_change().empty());
    hears(matchmaker, asks_for(1'000'000));
    CHECK(closed_by_owner_change() == std::vector<ConnectionId>{matchmaker});
}

TEST_CASE_FIXTURE(Booked, "N-7: a player is known again by its number, in its own byte order") {
    PlayerLoginResponse yes;
    yes.answer = PlayerLoginResponse::Accepted{AccountId(9), {}};
    hears(player, PlayerLogin{});
    CHECK(tells(player, yes) == Passing::pass);
    book.flushed();
    static_cast<void>(closed_by_owner_change());
    CHECK(tells(player, yes) == Passing::swallow);
}

TEST_CASE("N-7: another owner is told of peers in the order they came, whatever their slots") {
    PeerBook book;
    for (const std::uint32_t slot : {5U, 2U, 9U}) book.opened({slot, 1}, Port::servers, {}, "");
    std::vector<std::uint32_t> slots;
    book.for_each_to_tell([&](PeerBook::Peer& peer) { slots.push_back(peer.id.slot); });
    CHECK(slots == std::vector<std::uint32_t>{5, 2, 9});
}

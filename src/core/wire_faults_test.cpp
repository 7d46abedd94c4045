// What core answers to bytes that break the protocol (W-5, W-6).
#include <doctest/doctest.h>

#include "core/core_fixture.h"
#include "protocol/messages.h"

using namespace muster;
using namespace muster::testing;

namespace {

std::vector<std::byte> bytes(std::initializer_list<int> values) {
    std::vector<std::byte> out;
    for (const int value : values) out.push_back(static_cast<std::byte>(value));
    return out;
}

}  // namespace

TEST_CASE_FIXTURE(
    CoreWorld, "W-6, fault 40: an unknown code and one of the wrong direction are refused and closed, on each port") {
    const ConnectionId server = connect(Port::servers);
    send_raw(server, 0x7777, {});
    const auto error = next<ServerError>(server);
    CHECK(error.refused_code == 0x7777);
    CHECK(error.error == "Malformed message: unknown_code");
    CHECK(closed(server));

    const ConnectionId matchmaker = join_matchmaker(*this);
    send_raw(matchmaker, MatchmakerHeartbeatAck::code, {});
    CHECK(next<MatchmakerError>(matchmaker).error == "Malformed message: wrong_direction");
    CHECK(closed(matchmaker));

    const ConnectionId player = connect(Port::players);
    send_raw(player, 0x7777, {});
    CHECK(error_of(next<PlayerLoginResponse>(player)) == "Malformed message: unknown_code");
    CHECK(closed(player));
    CHECK(core->protocol_errors(Port::servers, WireError::unknown_code) == 1);
    CHECK(core->protocol_errors(Port::matchmakers, WireError::wrong_direction) == 1);
}

TEST_CASE_FIXTURE(CoreWorld,
                  "W-6, fault 41: every message before the handshake is refused and closed, and changes nothing") {
    const auto try_all = [this](Port port, auto list) {
        decltype(list)::for_each([&]<class M>() {
            if (M::direction != Direction::in || M::code == ServerHandshake::code ||
                M::code == MatchmakerHandshake::code)
                return;
            const ConnectionId link = connect(port);
            send(link, M{});
            CHECK(closed(link));
            CHECK(links.peers[link].frames.size() == 1);
        });
    };
    try_all(Port::servers, ServerPortMessages{});
    try_all(Port::matchmakers, MatchmakerPortMessages{});
    CHECK(core->fleet().size() == 0);
    CHECK(core->matches().size() == 0);
    const ConnectionId link = connect(Port::servers);
    send(link, MatchEndedReport{ServerId(1), LobbyId(9)});
    CHECK(error_of(next<MatchResponse>(link)) == "Server not registered");
}

TEST_CASE_FIXTURE(
    CoreWorld, "W-6, fault 41: a second handshake is refused and closed, and the server is as if its link was lost") {
    const TestServer server = join(*this, 7777);
    send(server.link, hello_of("10.0.0.1", 7777, eu, 10));
    CHECK(error_of(next<ServerHandshakeResponse>(server.link)) == "Server already registered");
    CHECK(closed(server.link));
    const ConnectionId matchmaker = join_matchmaker(*this);
    send(matchmaker, MatchmakerHandshake{"matchmaker-secret", "chat-1", {{eu}}});
    CHECK(error_of(next<MatchmakerHandshakeResponse>(matchmaker)) == "Chat Server already registered");
    CHECK(closed(matchmaker));
}

TEST_CASE_FIXTURE(
    CoreWorld,
    "W-6, fault 42, invariant 19: a malformed frame is answered in its own form and disturbs no other link") {
    const TestServer other = join(*this, 7777);
    const TestServer server = join(*this, 7778);
    const ConnectionId matchmaker = join_matchmaker(*this);
    allocate(*this, matchmaker, other, 1);
    // READY with its two ids and a token that is cut off.
    send_raw(server.link, ReadyForMatch::code, bytes({1, 0, 0, 0, 5, 0, 0, 0, 9, 0, 'x'}));
    const auto answer = next<ReadyForMatchResponse>(server.link);
    CHECK(std::get<LobbyRefused>(answer.answer).lobby == LobbyId(5));
    CHECK(error_of(answer) == "Malformed message: truncated");
    CHECK(closed(server.link));
    CHECK_FALSE(closed(other.link));
    CHECK_FALSE(closed(matchmaker));
    CHECK(core->matches().find(LobbyId(1)) != nullptr);
    CHECK(core->protocol_errors(Port::servers, WireError::truncated) == 1);
}

TEST_CASE_FIXTURE(CoreWorld, "W-6, W-7: what the network gives up on is told why before it is closed") {
    const ConnectionId silent = connect(Port::players);
    in_pass([&](const Pass& pass) { core->gave_up(pass, silent, LinkFault::handshake_deadline); });
    links.peers[silent].order = ByteOrder::big;
    CHECK(next<ServerClose>(silent).reason == "Handshake timeout");
    CHECK(closed(silent));

    const TestServer flooding = join(*this, 7777);
    in_pass([&](const Pass& pass) { core->gave_up(pass, flooding.link, LinkFault::flooded); });
    CHECK(next<ServerError>(flooding.link).error == "Too many messages");

    const ConnectionId huge = connect(Port::matchmakers);
    in_pass([&](const Pass& pass) { core->malformed(pass, huge, WireError::too_large); });
    CHECK(next<MatchmakerError>(huge).error == "Malformed message: too_large");
    CHECK(closed(huge));
}

TEST_CASE_FIXTURE(CoreWorld, "fault 13: a handler that failed costs its own link only") {
    const TestServer one = join(*this, 7777);
    const TestServer two = join(*this, 7778);
    in_pass([&](const Pass& pass) { core->handler_failed(pass, one.link); });
    CHECK(next<ServerError>(one.link).error == "Internal error");
    CHECK(closed(one.link));
    CHECK_FALSE(closed(two.link));
}

TEST_CASE_FIXTURE(CoreWorld, "W-6, A-7: a server whose link was closed for its bytes is offered nothing any more") {
    const TestServer broken = join(*this, 5000);
    const TestServer sound = join(*this, 5001, eu, 1);
    const ConnectionId matchmaker = join_matchmaker(*this);
    send_raw(broken.link, 0x7777, {});
    next<ServerError>(broken.link);
    CHECK(closed(broken.link));
    CHECK(core->fleet().find(broken.id)->status() == ServerStatus::offline);
    // The peer has not closed its end yet.
    send(matchmaker, request_for(1));
    CHECK(next<AllocateMatch>(sound.link).lobby == LobbyId(1));
    disconnect(broken.link);
    CHECK(events_named("server.offline") == 1);
}

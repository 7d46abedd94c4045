#include "sdk/src/link.h"

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "protocol/server_messages.h"

namespace muster::sdk {

namespace {

using namespace std::chrono_literals;

constexpr Time start{1h};
constexpr ByteOrder order = ByteOrder::little;

template <Message M>
std::vector<std::byte> bytes_of(const M& message) {
    std::vector<std::byte> bytes;
    encode(message, order, bytes);
    return bytes;
}

// Remembers the lobbies of aborted matches, and ignores everything else.
struct Aborts {
    std::vector<int>& lobbies;
    void operator()(const AbortMatch& message) const { lobbies.push_back(message.lobby.value); }
    void operator()(const auto&) const {}
};

Link online() {
    Link link(order);
    REQUIRE(link.connected(start));
    link.greeted();
    return link;
}

}  // namespace

TEST_CASE(
    "fault 28: a link that is lost is wanted again after a pause, and a handshake without an answer is given up") {
    Link link(order, 5);
    CHECK(link.wants_connection());
    link.disconnected(start);  // refused
    CHECK_FALSE(link.wants_connection());
    const auto due = link.next_tick();
    REQUIRE(due);
    CHECK(*due >= start);
    CHECK(*due <= start + 100ms);
    link.tick(*due - 1ns);
    CHECK_FALSE(link.wants_connection());
    link.tick(*due);
    CHECK(link.wants_connection());

    REQUIRE(link.connected(*due));
    link.tick(*due + Link::greeting_max - 1ns);
    CHECK(link.wants_connection());
    link.tick(*due + Link::greeting_max);
    CHECK_FALSE(link.wants_connection());
    link.disconnected(*due + Link::greeting_max);
    CHECK(link.stage() == Link::Stage::waiting);
}

TEST_CASE("fault 22: messages cut at every byte, and many at once, are the same messages") {
    std::vector<std::byte> stream;
    for (int lobby = 1; lobby <= 3; ++lobby) {
        encode(AbortMatch{.lobby = muster::LobbyId(lobby), .reason = "Cancelled"}, order, stream);
    }
    for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
        std::vector<int> lobbies;
        Link link = online();
        CHECK_FALSE(link.receive<Port::servers>(std::span(stream).first(cut), Aborts{lobbies}));
        CHECK_FALSE(link.receive<Port::servers>(std::span(stream).subspan(cut), Aborts{lobbies}));
        CHECK(lobbies == std::vector{1, 2, 3});
    }
    std::vector<int> lobbies;
    Link link = online();
    for (const std::byte& byte : stream) CHECK_FALSE(link.receive<Port::servers>(std::span(&byte, 1), Aborts{lobbies}));
    CHECK(lobbies == std::vector{1, 2, 3});
}

TEST_CASE("W-5: a malformed message drops the link with its kind, and nothing after it is read") {
    std::vector<int> lobbies;
    Link link = online();
    auto stream = bytes_of(AbortMatch{.lobby = muster::LobbyId(1)});
    encode(AllocateMatchAck{}, order, stream);  // a message that only game servers send
    encode(AbortMatch{.lobby = muster::LobbyId(2)}, order, stream);
    CHECK(link.receive<Port::servers>(stream, Aborts{lobbies}) == WireError::wrong_direction);
    CHECK(lobbies == std::vector{1});
    CHECK(link.stage() == Link::Stage::dropping);
    CHECK_FALSE(link.receive<Port::servers>(bytes_of(AbortMatch{.lobby = muster::LobbyId(3)}), Aborts{lobbies}));
    CHECK(lobbies == std::vector{1});

    Link other = online();
    const std::vector<std::byte> short_length(4, std::byte{0});
    CHECK(other.receive<Port::servers>(short_length, Aborts{lobbies}) == WireError::bad_length);
}

TEST_CASE("W-5: a message of a newer Muster is skipped") {
    std::vector<int> lobbies;
    Link link = online();
    std::vector<std::byte> stream;
    encode_raw(0x10FF, std::vector<std::byte>(17), order, stream);
    encode(AbortMatch{.lobby = muster::LobbyId(1)}, order, stream);
    CHECK_FALSE(link.receive<Port::servers>(stream, Aborts{lobbies}));
    CHECK(lobbies == std::vector{1});
    CHECK(link.online());
}

TEST_CASE("F-6: what is said without a link is not kept, and a new link starts with nothing of the old") {
    Link link(order);
    link.send(ServerGoodbye{});
    CHECK(link.take_output().empty());
    REQUIRE(link.connected(start));
    link.send(ServerGoodbye{});
    link.disconnected(start);
    link.tick(start + 1s);
    REQUIRE(link.connected(start + 1s));
    CHECK(link.take_output().empty());
}

TEST_CASE("F-12: a closed link sends what is left and never connects again") {
    Link link = online();
    link.send(ServerGoodbye{});
    link.close();
    CHECK_FALSE(link.wants_connection());
    CHECK_FALSE(link.take_output().empty());
    link.disconnected(start);
    link.tick(start + 1h);
    CHECK_FALSE(link.wants_connection());
    CHECK_FALSE(link.connected(start + 1h));
}

TEST_CASE("fault 26: a link that takes nothing of what is said is dropped, and its memory is bounded") {
    Link link = online();
    const ServerHandshake large{.token = std::string(256, 'x')};
    for (std::size_t said = 0; said <= Link::unsent_bytes_max + 1'000; said += 256) link.send(large);
    CHECK(link.stage() == Link::Stage::dropping);
    CHECK(link.take_output().empty());
}

TEST_CASE("P-5: a link at rest wants no connection until it is told to, and says what was left to say") {
    Link link = online();
    link.send(ServerGoodbye{});
    link.rest();
    CHECK_FALSE(link.wants_connection());
    CHECK_FALSE(link.take_output().empty());
    link.send(ServerGoodbye{});
    CHECK(link.take_output().empty());
    link.disconnected(start);
    link.tick(start + 1h);
    CHECK_FALSE(link.wants_connection());
    CHECK_FALSE(link.next_tick());
    link.want();
    CHECK(link.wants_connection());
}

TEST_CASE("P-5: a link that is wanted again before it was closed is closed first") {
    Link link = online();
    link.rest();
    link.want();
    CHECK_FALSE(link.wants_connection());
    link.disconnected(start);
    REQUIRE(link.next_tick());
    link.tick(*link.next_tick());
    CHECK(link.wants_connection());
}

}  // namespace muster::sdk

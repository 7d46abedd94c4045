#include "relay/node_message.h"

#include <string>

#include <doctest/doctest.h>

#include "base/random.h"

using namespace muster;

namespace {

std::span<const std::byte> letters(std::string_view text) {
    return std::as_bytes(std::span(text));
}

constexpr ConnectionId named{7, 3};

}  // namespace

TEST_CASE("N-7: what a node says is read as it was written") {
    std::vector<std::byte> bytes;
    NodeWriter writer(bytes);
    writer.hello({NodeHello::present_version, 42, "main", "two", "secret"});
    writer.opened({named, Port::players, *IpAddress::parse("10.1.2.3"), "game-7"});
    writer.frame({named, 1'500, 0x2002, letters("payload")});
    writer.report(NodeKind::malformed, named, 2);
    writer.send(named, letters("frame"));
    const std::vector<ConnectionId> many{{1, 1}, {2, 5}};
    writer.send_to_all(many, letters("all"));
    writer.question(NodeKind::question, 9, letters("GET"));
    writer.beat();

    std::span<const std::byte> rest = bytes;
    const auto next = [&](NodeKind kind) {
        const NodeSplit split = next_node_message(rest, node_message_max);
        REQUIRE(split.outcome == NodeSplit::Outcome::message);
        CHECK(split.kind == kind);
        rest = rest.subspan(split.size);
        return split.body;
    };
    const auto hello = read_node_hello(next(NodeKind::hello));
    REQUIRE(hello);
    CHECK(hello->term == 42);
    CHECK(hello->cell == "main");
    CHECK(hello->node == "two");
    CHECK(hello->token == "secret");
    const auto opened = read_node_peer(next(NodeKind::opened));
    REQUIRE(opened);
    CHECK(opened->id == named);
    CHECK(opened->port == Port::players);
    CHECK(opened->address.to_string() == "10.1.2.3");
    CHECK(opened->name == "game-7");
    const auto frame = read_node_frame(next(NodeKind::frame));
    REQUIRE(frame);
    CHECK(frame->rtt_us == 1'500);
    CHECK(frame->code == 0x2002);
    CHECK(node_text(frame->payload) == "payload");
    CHECK(read_node_report(next(NodeKind::malformed))->detail == 2);
    CHECK(node_text(read_node_send(next(NodeKind::send))->frame) == "frame");
    const auto all = read_node_send_to_all(next(NodeKind::send_to_all));
    REQUIRE(all);
    CHECK(all->peers == many);
    CHECK(node_text(all->frame) == "all");
    CHECK(read_node_question(next(NodeKind::question))->number == 9);
    CHECK(next(NodeKind::beat).empty());
    CHECK(rest.empty());
}

TEST_CASE("N-7: a message is whole or not there, wherever the stream is cut") {
    std::vector<std::byte> bytes;
    NodeWriter(bytes).frame({named, 0, 1, letters("abc")});
    for (std::size_t size = 0; size < bytes.size(); ++size)
        CHECK(next_node_message(std::span(bytes).first(size), node_message_max).outcome ==
              NodeSplit::Outcome::need_more);
    CHECK(next_node_message(bytes, node_message_max).size == bytes.size());
}

TEST_CASE("N-7: a length or a kind that no node sends is an error before anything is kept for it") {
    const auto outcome_of = [](std::string_view text) {
        return next_node_message(letters(text), node_hello_max).outcome;
    };
    using namespace std::string_view_literals;
    CHECK(outcome_of("GET / HTTP/1.1\r\n\r\n") == NodeSplit::Outcome::error);
    CHECK(outcome_of("\0\0\0\0"sv) == NodeSplit::Outcome::error);
    CHECK(outcome_of("\x01\x10\0\0"sv) == NodeSplit::Outcome::error);  // one more than a hello may have
    CHECK(outcome_of("\0\x10\0\0\x01"sv) == NodeSplit::Outcome::need_more);
    CHECK(outcome_of("\x01\0\0\0\0"sv) == NodeSplit::Outcome::error);
    CHECK(outcome_of("\x01\0\0\0\x15"sv) == NodeSplit::Outcome::error);
    CHECK(outcome_of("\x01\0\0\0\x14"sv) == NodeSplit::Outcome::message);
}

TEST_CASE("N-7: a hello of a stranger is none, and one of a later version is known as such") {
    std::vector<std::byte> bytes;
    NodeWriter(bytes).hello({2, 1, "main", "two", ""});
    auto body = std::span(bytes).subspan(node_head_size);
    REQUIRE(read_node_hello(body));
    CHECK(read_node_hello(body)->version == 2);
    bytes.push_back(std::byte{1});  // it may say more
    CHECK(read_node_hello(std::span(bytes).subspan(node_head_size)));
    bytes[node_head_size] = std::byte{'m'};
    CHECK_FALSE(read_node_hello(std::span(bytes).subspan(node_head_size)));
}

TEST_CASE("N-7: whatever bytes a body has, reading it ends and stays within it") {
    Random random(7);
    for (int round = 0; round < 20'000; ++round) {
        std::vector<std::byte> body(random.below(40));
        for (std::byte& each : body) each = static_cast<std::byte>(random.below(256));
        static_cast<void>(read_node_hello(body));
        if (const auto read = read_node_peer(body)) CHECK(read->name.size() <= body.size());
        if (const auto read = read_node_frame(body)) CHECK(read->payload.size() <= body.size());
        static_cast<void>(read_node_report(body));
        static_cast<void>(read_node_send(body));
        if (const auto read = read_node_send_to_all(body)) CHECK(read->peers.size() * 8 <= body.size());
        static_cast<void>(read_node_question(body));
        const NodeSplit split = next_node_message(body, node_message_max);
        if (split.outcome == NodeSplit::Outcome::message) CHECK(split.size <= body.size());
    }
}

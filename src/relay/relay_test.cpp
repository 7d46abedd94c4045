#include "relay/relay.h"

#include <doctest/doctest.h>

#include "relay/relay_fixture.h"

using namespace muster;

namespace {

constexpr ConnectionId asker{2, 1};
constexpr Time heard_at{};

struct Relaying {
    std::vector<std::string> finds_owner() {
        std::vector<std::byte> out;
        relay.owner_found(out);
        return heard_in(out);
    }
    template <class Fill>
    std::vector<std::string> peers_do(Port port, Fill fill) {
        InboundBatch batch;
        fill(batch);
        std::vector<std::byte> out;
        relay.take(batch, port, out);
        return heard_in(out);
    }
    template <Message M>
    void says(InboundBatch& batch, ConnectionId from, const M& message) {
        batch.add_frame(from, heard_at, M::code, payload_of(message), 0);
    }
    template <Message M>
    bool owner_sends(ConnectionId to, const M& message) {
        std::vector<std::byte> bytes;
        NodeWriter(bytes).send(to, frame_of(message));
        const bool good = relay.heard(NodeKind::send, std::span(bytes).subspan(node_head_size));
        book.flushed();
        return good;
    }
    bool owner_says(NodeKind kind, ConnectionId about) {
        std::vector<std::byte> bytes;
        NodeWriter(bytes).report(kind, about);
        return relay.heard(kind, std::span(bytes).subspan(node_head_size));
    }
    static MatchmakerHandshakeResponse yes() {
        MatchmakerHandshakeResponse response;
        response.answer = MatchmakerHandshakeResponse::Accepted{};
        return response;
    }

    PeerBook book;
    ListedPeers peers;
    Relay relay{book, peers};
};

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE_FIXTURE(Relaying,
                  "N-7, fault 85: the owner changes, and the peer's handshake and open question are said again") {
    CHECK(finds_owner().empty());
    CHECK(peers_do(Port::matchmakers, [&](InboundBatch& batch) {
              batch.add_opened(asker, heard_at, *IpAddress::parse("10.0.0.2"));
              says(batch, asker, MatchmakerHandshake{});
              says(batch, asker, asks_for(1));
              says(batch, asker, asks_for(2));
          }) == Words{"opened", "frame 8192", "frame 8194", "frame 8194"});
    CHECK(owner_sends(asker, yes()));
    CHECK(owner_sends(asker, refused(1)));
    CHECK(peers.take() == Words{"send 2 8193", "send 2 8195"});

    relay.owner_lost();
    CHECK(peers.take().empty());  // the socket stays open
    CHECK_FALSE(relay.has_owner());
    CHECK(finds_owner() == Words{"opened", "frame 8192", "frame 8194"});
    CHECK(owner_sends(asker, yes()));
    CHECK(peers.take().empty());  // it was told before
    CHECK(owner_sends(asker, refused(2)));
    CHECK(peers.take() == Words{"send 2 8195"});
    CHECK(book.unanswered() == 0);
}

TEST_CASE_FIXTURE(Relaying, "N-7, fault 85: what the owner said just before it was lost is not asked for again") {
    static_cast<void>(finds_owner());
    peers_do(Port::matchmakers, [&](InboundBatch& batch) {
        batch.add_opened(asker, heard_at, {});
        says(batch, asker, MatchmakerHandshake{});
        says(batch, asker, asks_for(1));
    });
    // Its last words and its end are read in one turn: nothing is flushed between them.
    for (const auto& frame : {frame_of(yes()), frame_of(refused(1))}) {
        std::vector<std::byte> bytes;
        NodeWriter(bytes).send(asker, frame);
        CHECK(relay.heard(NodeKind::send, std::span(bytes).subspan(node_head_size)));
    }
    relay.owner_lost();
    CHECK(peers.take() == Words{"send 2 8193", "send 2 8195"});
    CHECK(finds_owner() == Words{"opened", "frame 8192"});
    CHECK(owner_sends(asker, yes()));
    CHECK(peers.take().empty());
}

TEST_CASE_FIXTURE(Relaying, "N-7: a peer that the next owner refuses is closed and not told of again") {
    static_cast<void>(finds_owner());
    peers_do(Port::matchmakers, [&](InboundBatch& batch) {
        batch.add_opened(asker, heard_at, {});
        says(batch, asker, MatchmakerHandshake{});
    });
    CHECK(owner_sends(asker, yes()));
    relay.owner_lost();
    static_cast<void>(finds_owner());
    static_cast<void>(peers.take());
    MatchmakerHandshakeResponse no;
    no.answer = MatchmakerHandshakeResponse::Refused{};
    CHECK(owner_sends(asker, no));
    CHECK(peers.take() == Words{"close 2"});
    relay.owner_lost();
    CHECK(finds_owner().empty());
}

TEST_CASE_FIXTURE(Relaying, "N-7: orders of the owner reach the peer, and what it did reaches the owner, each once") {
    static_cast<void>(finds_owner());
    peers_do(Port::matchmakers, [&](InboundBatch& batch) { batch.add_opened(asker, heard_at, {}); });
    CHECK(owner_says(NodeKind::greeted, asker));
    CHECK(owner_says(NodeKind::report_drained, asker));
    CHECK(peers.take() == Words{"greeted 2", "drain 2"});
    const auto drained = [&](InboundBatch& batch) { batch.add(InboundKind::drained, asker, heard_at); };
    CHECK(peers_do(Port::matchmakers, drained) == Words{"drained"});
    CHECK(peers_do(Port::matchmakers, drained).empty());  // nobody asked
    CHECK(owner_says(NodeKind::close, asker));
    CHECK(peers.take() == Words{"close 2"});
    CHECK(peers_do(Port::matchmakers, [&](InboundBatch& batch) { batch.add(InboundKind::closed, asker, heard_at); }) ==
          Words{"closed"});
    CHECK(book.size() == 0);
    // Orders that crossed its end come to nothing.
    CHECK(owner_says(NodeKind::cut, asker));
    CHECK(owner_sends(asker, yes()));
    CHECK(peers.take().empty());
}

TEST_CASE_FIXTURE(Relaying, "B-1, N-7: a paused peer is paused for the next owner too") {
    static_cast<void>(finds_owner());
    peers_do(Port::matchmakers, [&](InboundBatch& batch) {
        batch.add_opened(asker, heard_at, {});
        batch.add(InboundKind::paused, asker, heard_at);
    });
    relay.owner_lost();
    CHECK(finds_owner() == Words{"opened", "paused"});
}

TEST_CASE_FIXTURE(Relaying, "N-7: the end of a peer that the present owner was not told of is not told, either") {
    static_cast<void>(finds_owner());
    peers_do(Port::matchmakers, [&](InboundBatch& batch) {
        batch.add_opened(asker, heard_at, {});
        batch.add(InboundKind::malformed, asker, heard_at);
    });
    // The owner is lost before it has refused the peer.
    relay.owner_lost();
    CHECK(peers.take() == Words{"close 2"});
    CHECK(finds_owner().empty());
    CHECK(peers_do(Port::matchmakers, [&](InboundBatch& batch) {
              batch.add(InboundKind::closed, asker, heard_at);
          }).empty());
    CHECK(book.size() == 0);
}

TEST_CASE_FIXTURE(Relaying, "N-7: an owner that says what no owner says is told apart") {
    static_cast<void>(finds_owner());
    const std::vector<std::byte> none;
    CHECK_FALSE(relay.heard(NodeKind::send, none));
    CHECK_FALSE(relay.heard(NodeKind::send_to_all, none));
    CHECK_FALSE(relay.heard(NodeKind::close, none));
    CHECK_FALSE(owner_says(NodeKind::opened, asker));
    CHECK_FALSE(owner_says(NodeKind::frame, asker));
}

// What a node says at the node port: bytes of a stranger before its hello, and of a node after it, cut anywhere.
//
// An input's first byte says how the stream is cut, and whether the node was let in before it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "fuzz/fuzz_port.h"
#include "fuzz/fuzz_target.h"
#include "relay/node_message.h"
#include "relay/relayed_links.h"

namespace muster::fuzz {
namespace {

// The messages of a stream, as far as it has any: where each ends, and whether it ends in something that is none.
struct NodeStream {
    std::vector<std::size_t> ends;
    bool broken = false;

    friend bool operator==(const NodeStream&, const NodeStream&) = default;
};

// As NodePort takes them: until a hello was read, short ones only.
NodeStream read_stream(ByteView stream, bool is_greeted, ByteView pieces) {
    NodeStream read;
    std::size_t begin = 0;
    std::size_t arrived = pieces.empty() ? stream.size() : 0;
    for (std::size_t turn = 0;;) {
        const NodeSplit split =
            next_node_message(stream.subspan(begin, arrived - begin), is_greeted ? node_message_max : node_hello_max);
        if (split.outcome == NodeSplit::Outcome::message) {
            begin += split.size;
            read.ends.push_back(begin);
            is_greeted = true;
            continue;
        }
        read.broken = split.outcome == NodeSplit::Outcome::error;
        if (read.broken || arrived == stream.size()) return read;
        const std::size_t piece = std::size_t{1} + std::to_integer<std::uint8_t>(pieces[turn++ % pieces.size()]);
        arrived = std::min(arrived + piece, stream.size());
    }
}

// What was read of a message, written again; nothing when it is not one of its kind.
std::optional<Bytes> written_again(NodeKind kind, ByteView body) {
    Bytes again;
    NodeWriter writer(again);
    const auto write = [&](const auto& read, const auto& put) -> std::optional<Bytes> {
        if (!read) return std::nullopt;
        put(*read);
        return std::move(again);
    };
    switch (kind) {
        case NodeKind::hello: {
            const auto hello = read_node_hello(body);
            // A later version may say more than is read of it.
            if (hello && hello->version != NodeHello::present_version) return std::nullopt;
            return write(hello, [&](const NodeHello& one) { writer.hello(one); });
        }
        case NodeKind::opened:
            return write(read_node_peer(body), [&](const NodePeer& one) { writer.opened(one); });
        case NodeKind::frame:
            return write(read_node_frame(body), [&](const NodeFrame& one) { writer.frame(one); });
        case NodeKind::send:
            return write(read_node_send(body), [&](const NodeSend& one) { writer.send(one.peer, one.frame); });
        case NodeKind::send_to_all:
            return write(read_node_send_to_all(body),
                         [&](const NodeSendToAll& one) { writer.send_to_all(one.peers, one.frame); });
        case NodeKind::question:
        case NodeKind::answer:
            return write(read_node_question(body),
                         [&](const NodeQuestion& one) { writer.question(kind, one.number, one.bytes); });
        case NodeKind::refused:
            writer.refused(node_text(body));
            return again;
        case NodeKind::welcome:
        case NodeKind::beat:
            return std::nullopt;
        default:
            return write(read_node_report(body),
                         [&](const NodeReport& one) { writer.report(kind, one.peer, one.detail); });
    }
}

// Hears what the loop would: each link opens once, and after its end nothing more is said of it.
class Loop {
public:
    void take(RelayedLinks::Batches& batches) {
        for (const Port port : ports) {
            InboundBatch& batch = batches[static_cast<std::size_t>(port)];
            for (std::size_t i = 0; i < batch.size(); ++i) hear(port, batch[i]);
            batch.clear();
        }
    }
    std::size_t open() const { return open_.size(); }

private:
    void hear(Port port, const InboundItem& item) {
        const ConnectionId link = item.connection;
        if (item.kind == InboundKind::opened) {
            MUSTER_CHECK(link.generation > newest_, "no link has the name of another");
            newest_ = link.generation;
            MUSTER_CHECK(open_.emplace(link.slot, std::pair(link.generation, port)).second,
                         "a slot is free before it is used again");
            return;
        }
        const auto known = open_.find(link.slot);
        MUSTER_CHECK(known != open_.end() && known->second == std::pair(link.generation, port),
                     "only what is open says something, at its own port");
        if (item.kind == InboundKind::malformed) MUSTER_CHECK(item.detail < wire_errors.size(), "a known fault");
        if (item.kind == InboundKind::gave_up) MUSTER_CHECK(item.detail < link_faults.size(), "a known deadline");
        if (item.kind == InboundKind::closed) open_.erase(known);
    }

    std::map<std::uint32_t, std::pair<std::uint32_t, Port>> open_;  // by slot
    std::uint32_t newest_ = 0;
};

void play(const Plan& plan) {
    constexpr NodeLinkNumber node{1};
    const NodeStream whole = read_stream(plan.stream, plan.greeted, {});
    MUSTER_CHECK(whole == read_stream(plan.stream, plan.greeted, plan.pieces), "how a stream is cut changes nothing");

    RelayedLinks links(1, 0);
    RelayedLinks::Batches batches;
    Loop loop;
    bool is_greeted = plan.greeted;
    std::size_t begin = 0;
    for (const std::size_t end : whole.ends) {
        const ByteView message = plan.stream.subspan(begin, end - begin);
        begin = end;
        const NodeSplit split = next_node_message(message, node_message_max);
        MUSTER_CHECK(split.outcome == NodeSplit::Outcome::message && split.size == message.size(), "it was one before");
        if (const auto again = written_again(split.kind, split.body))
            MUSTER_CHECK(same(*again, message), "a message has one encoding");
        // Before the hello nothing else is heard, and nobody is let in who does not say it.
        if (!is_greeted) {
            is_greeted = split.kind == NodeKind::hello && read_node_hello(split.body).has_value();
            if (!is_greeted) break;
            continue;
        }
        if (split.kind == NodeKind::beat || split.kind == NodeKind::question) continue;
        const bool fits = links.heard(node, split.kind, split.body, Time{}, batches);
        loop.take(batches);
        MUSTER_CHECK(loop.open() == links.size(), "what is open is counted");
        if (!fits) break;
    }
    links.lost(node, Time{}, batches);
    loop.take(batches);
    MUSTER_CHECK(loop.open() == 0 && links.size() == 0, "with its node all its peers are gone");
}

}  // namespace
}  // namespace muster::fuzz

FUZZ_TARGET("N-7: whatever comes over a node link is whole messages or its end, and no peer outlives its node") {
    muster::fuzz::play(muster::fuzz::plan_of(std::as_bytes(std::span(data, size))));
    return 0;
}

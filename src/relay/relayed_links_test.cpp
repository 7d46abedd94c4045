#include "relay/relayed_links.h"

#include <doctest/doctest.h>

#include "base/random.h"
#include "net/connection_table.h"

using namespace muster;

namespace {

constexpr Time told_at{};
constexpr NodeLinkNumber one{1};
constexpr NodeLinkNumber two{2};
constexpr std::size_t servers = static_cast<std::size_t>(Port::servers);

struct Owner {
    template <class Write>
    bool hears(NodeLinkNumber from, Write write) {
        std::vector<std::byte> bytes;
        NodeWriter writer(bytes);
        write(writer);
        const NodeSplit split = next_node_message(bytes, node_message_max);
        return links.heard(from, split.kind, split.body, told_at, batches);
    }
    bool opens(NodeLinkNumber from, ConnectionId peer, Port port = Port::servers) {
        return hears(from, [&](NodeWriter& w) { w.opened({peer, port, *IpAddress::parse("10.0.0.9"), "n"}); });
    }
    bool reports(NodeLinkNumber from, NodeKind kind, ConnectionId peer, std::uint8_t detail = 0) {
        return hears(from, [&](NodeWriter& w) { w.report(kind, peer, detail); });
    }
    ConnectionId name_of_last() { return batches[servers][batches[servers].size() - 1].connection; }

    RelayedLinks links{3, 100};
    RelayedLinks::Batches batches;
};

}  // namespace

TEST_CASE_FIXTURE(Owner, "N-7: a relayed peer is a link like any other, with its own address") {
    CHECK(opens(one, {7, 1}));
    const InboundItem item = batches[servers][0];
    CHECK(item.kind == InboundKind::opened);
    CHECK(batches[servers].address(item).to_string() == "10.0.0.9");
    CHECK(batches[servers].name(item) == "n");
    CHECK(ConnectionTable::worker_of(item.connection) == 3);
    CHECK(item.connection.generation == 101);
    CHECK(hears(one, [](NodeWriter& w) { w.frame({{7, 1}, 250, 0x1002, {}}); }));
    CHECK(batches[servers][1].code == 0x1002);
    CHECK(batches[servers][1].rtt_us == 250);
    CHECK(batches[servers][1].connection == item.connection);
}

TEST_CASE_FIXTURE(Owner, "N-7: two nodes may call their peers by the same name") {
    CHECK(opens(one, {7, 1}));
    const ConnectionId first = name_of_last();
    CHECK(opens(two, {7, 1}));
    CHECK(name_of_last() != first);
    CHECK(links.size() == 2);
    links.lost(one, told_at, batches);
    CHECK(links.size() == 1);
    CHECK(name_of_last() == first);
    CHECK(batches[servers][2].kind == InboundKind::closed);
}

TEST_CASE_FIXTURE(Owner, "N-7: what no node says is refused and changes nothing") {
    CHECK_FALSE(reports(one, NodeKind::closed, {7, 1}));
    CHECK_FALSE(hears(one, [](NodeWriter& w) { w.frame({{7, 1}, 0, 1, {}}); }));
    CHECK_FALSE(reports(one, NodeKind::greeted, {7, 1}));
    CHECK(opens(one, {7, 1}));
    CHECK_FALSE(opens(one, {7, 1}));
    CHECK_FALSE(opens(one, {8, 0}));
    CHECK_FALSE(reports(one, NodeKind::malformed, {7, 1}, 200));
    CHECK_FALSE(reports(one, NodeKind::gave_up, {7, 1}, 200));
    CHECK_FALSE(reports(two, NodeKind::closed, {7, 1}));
    CHECK(links.size() == 1);
    CHECK(batches[servers].size() == 1);
}

TEST_CASE_FIXTURE(Owner, "N-7: a slot is used again with another generation and by its own port only") {
    CHECK(opens(one, {7, 1}));
    const ConnectionId first = name_of_last();
    CHECK(reports(one, NodeKind::closed, {7, 1}));
    CHECK(opens(one, {8, 1}, Port::players));
    CHECK(opens(one, {9, 1}));
    CHECK(name_of_last().slot == first.slot);
    CHECK(name_of_last().generation > first.generation);
    const auto& players = batches[static_cast<std::size_t>(Port::players)];
    CHECK(players[0].connection.slot != first.slot);
}

TEST_CASE_FIXTURE(Owner, "N-7: one frame for many peers goes to each node once") {
    std::vector<ConnectionId> names;
    for (std::uint32_t slot = 1; slot <= 3; ++slot) {
        CHECK(opens(slot == 3 ? two : one, {slot, 1}));
        names.push_back(name_of_last());
    }
    OutboundBatch orders;
    std::fill_n(orders.bytes.extend(10), 10, std::byte{});
    for (const ConnectionId name : names) orders.entries.push_back({name, 0, 10, OutboundAction::send});
    orders.entries.push_back({.connection = names[0], .action = OutboundAction::close_after_flush});
    orders.entries.push_back({{names[0].slot, names[0].generation + 50}, 0, 10, OutboundAction::send});
    std::map<NodeLinkNumber, std::vector<std::byte>> out;
    links.obey(orders, [&](NodeLinkNumber link) { return &out[link]; });
    const NodeSplit first = next_node_message(out[one], node_message_max);
    CHECK(first.kind == NodeKind::send_to_all);
    CHECK(read_node_send_to_all(first.body)->peers == std::vector<ConnectionId>{{1, 1}, {2, 1}});
    const NodeSplit second = next_node_message(std::span(out[one]).subspan(first.size), node_message_max);
    CHECK(second.kind == NodeKind::close);
    CHECK(first.size + second.size == out[one].size());
    const NodeSplit other = next_node_message(out[two], node_message_max);
    CHECK(other.kind == NodeKind::send);
    CHECK(other.size == out[two].size());
}

TEST_CASE_FIXTURE(Owner, "N-7: whatever a node sends, links open and close once each") {
    Random random(11);
    for (int round = 0; round < 50'000; ++round) {
        const auto kind = static_cast<NodeKind>(random.below(22));
        const ConnectionId peer{static_cast<std::uint32_t>(random.below(6)),
                                static_cast<std::uint32_t>(random.below(3))};
        std::vector<std::byte> bytes;
        NodeWriter writer(bytes);
        switch (random.below(4)) {
            case 0:
                writer.opened({peer, static_cast<Port>(random.below(3)), {}, ""});
                break;
            case 1:
                writer.frame({peer, 0, static_cast<Code>(random.below(100)), {}});
                break;
            default:
                writer.report(kind, peer, static_cast<std::uint8_t>(random.below(12)));
        }
        std::span<const std::byte> body = std::span(bytes).subspan(node_head_size);
        body = body.first(random.below(3) == 0 ? random.below(body.size() + 1) : body.size());
        static_cast<void>(
            links.heard(random.below(2) == 0 ? one : two, static_cast<NodeKind>(bytes[4]), body, told_at, batches));
        if (random.below(500) == 0) links.lost(one, told_at, batches);
    }
    std::map<ConnectionId, int> balance;
    for (const InboundBatch& batch : batches)
        for (std::size_t i = 0; i < batch.size(); ++i) {
            const bool opened = batch[i].kind == InboundKind::opened;
            int& open = balance[batch[i].connection];
            if (opened) ++open;
            CHECK(open == 1);
            if (batch[i].kind == InboundKind::closed) --open;
        }
    std::size_t open = 0;
    for (const auto& [name, count] : balance) open += static_cast<std::size_t>(count);
    CHECK(open == links.size());
}

// Seeds for the node port: a hello, and what a node says after it.
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "fuzz/seed_folder.h"
#include "relay/node_message.h"

namespace muster::fuzz {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text));
}

void write_hello(NodeWriter& writer) {
    writer.hello({.term = 7, .cell = "main", .node = "b", .token = "node-secret"});
}

// All that a peer's life may bring, from its coming to its end.
void write_life(NodeWriter& writer, ConnectionId peer, Port port) {
    writer.opened({.id = peer, .port = port, .address = IpAddress::v4({10, 0, 0, 1}), .name = "eu-1"});
    writer.frame({.peer = peer, .rtt_us = 250, .code = 0x1002, .payload = bytes_of("load")});
    writer.report(NodeKind::paused, peer);
    writer.report(NodeKind::resumed, peer);
    writer.report(NodeKind::drained, peer);
    writer.report(NodeKind::malformed, peer, 1);
    writer.report(NodeKind::gave_up, peer, 1);
    writer.report(NodeKind::closed, peer);
}

// What the owner says.
void write_orders(NodeWriter& writer, ConnectionId peer) {
    const std::array both{peer, ConnectionId{2, 1}};
    writer.send(peer, bytes_of("frame"));
    writer.send_to_all(both, bytes_of("news"));
    for (const NodeKind kind : {NodeKind::greeted, NodeKind::report_drained, NodeKind::close, NodeKind::cut})
        writer.report(kind, peer);
    writer.question(NodeKind::answer, 5, bytes_of("{}"));
    writer.refused("another term");
    writer.welcome();
}

}  // namespace

int write_node_seeds(const std::filesystem::path& all) {
    SeedFolder folder(all, "nodes");
    const ConnectionId peer{1, 1};
    // The first byte, as plan_of() reads it: greeted or not, and how many pieces; then their sizes.
    const auto write = [&](const std::string& name, bool greeted, const auto& fill) {
        std::vector<std::byte> stream;
        NodeWriter writer(stream);
        fill(writer);
        const std::string said(reinterpret_cast<const char*>(stream.data()), stream.size());
        const unsigned head = greeted ? 2U : 0U;
        folder.write(name, static_cast<char>(head) + said);
        folder.write(name + "-cut", static_cast<char>(head | 1U << 2) + std::string(1, '\2') + said);
    };
    write("hello", false, write_hello);
    for (const Port port : ports) {
        write(fmt::format("life-{}", to_string(port)), true,
              [&](NodeWriter& writer) { write_life(writer, peer, port); });
    }
    write("hello-and-lives", false, [&](NodeWriter& writer) {
        write_hello(writer);
        writer.beat();
        write_life(writer, peer, Port::servers);
        write_life(writer, peer, Port::players);
        writer.question(NodeKind::question, 5, bytes_of("GET /api/v1/servers"));
    });
    write("orders", true, [&](NodeWriter& writer) { write_orders(writer, peer); });
    return folder.count();
}

}  // namespace muster::fuzz

#include "relay/node_message.h"

#include <algorithm>
#include <array>

#include "protocol/wire_bytes.h"

namespace muster {
namespace {

// Says hello to people who look at bytes, and keeps strangers out before anything else is read.
constexpr std::string_view magic = "MUSTERNODE";

// Takes fields from the front; once something is missing, nothing more comes and is_whole() is false.
class NodeReader {
public:
    explicit NodeReader(std::span<const std::byte> bytes) : rest_(bytes) {}

    template <class Number>
    Number number() {
        const auto taken = take(sizeof(Number));
        if (taken.empty()) return Number{};
        return wire::get<ByteOrder::little, Number>(taken.data());
    }
    ConnectionId id() {
        const auto slot = number<std::uint32_t>();
        return {slot, number<std::uint32_t>()};
    }
    std::string_view text() {
        const auto taken = take(number<std::uint16_t>());
        return {reinterpret_cast<const char*>(taken.data()), taken.size()};
    }
    std::span<const std::byte> take(std::size_t count) {
        if (count > rest_.size()) {
            is_short_ = true;
            rest_ = {};
            return {};
        }
        const auto taken = rest_.first(count);
        rest_ = rest_.subspan(count);
        return taken;
    }
    std::span<const std::byte> take_rest() { return take(rest_.size()); }
    std::size_t left() const { return rest_.size(); }

    // Nothing was missing and nothing is left.
    bool is_whole() const { return !is_short_ && rest_.empty(); }
    bool is_short() const { return is_short_; }

private:
    std::span<const std::byte> rest_;
    bool is_short_ = false;
};

std::span<const std::byte> bytes_of(std::string_view letters) {
    return std::as_bytes(std::span(letters));
}

}  // namespace

NodeSplit next_node_message(std::span<const std::byte> bytes, std::size_t length_max) {
    NodeSplit split;
    split.size = node_head_size;
    if (bytes.size() < sizeof(std::uint32_t)) return split;
    const std::size_t length = wire::get<ByteOrder::little, std::uint32_t>(bytes.data());
    if (length < sizeof(NodeKind) || length > length_max) {
        split.outcome = NodeSplit::Outcome::error;
        return split;
    }
    split.size = sizeof(std::uint32_t) + length;
    if (bytes.size() < node_head_size) return split;
    const auto kind = std::to_integer<std::uint8_t>(bytes[sizeof(std::uint32_t)]);
    if (kind < static_cast<std::uint8_t>(NodeKind::hello) || kind > static_cast<std::uint8_t>(NodeKind::beat)) {
        split.outcome = NodeSplit::Outcome::error;
        return split;
    }
    if (bytes.size() < split.size) return split;
    split.outcome = NodeSplit::Outcome::message;
    split.kind = static_cast<NodeKind>(kind);
    split.body = bytes.subspan(node_head_size, split.size - node_head_size);
    return split;
}

std::optional<NodeHello> read_node_hello(std::span<const std::byte> body) {
    NodeReader reader(body);
    const auto head = reader.take(magic.size());
    if (!std::ranges::equal(head, bytes_of(magic))) return std::nullopt;
    NodeHello hello;
    hello.version = reader.number<std::uint16_t>();
    hello.term = reader.number<std::int64_t>();
    hello.cell = reader.text();
    hello.node = reader.text();
    hello.token = reader.text();
    // A later version may say more.
    if (reader.is_short() || (hello.version == NodeHello::present_version && !reader.is_whole())) return std::nullopt;
    return hello;
}

std::optional<NodePeer> read_node_peer(std::span<const std::byte> body) {
    NodeReader reader(body);
    NodePeer peer;
    peer.id = reader.id();
    const auto port = reader.number<std::uint8_t>();
    std::array<std::uint8_t, 16> address{};
    const auto stored = reader.take(address.size());
    std::ranges::transform(stored, address.begin(), [](std::byte b) { return std::to_integer<std::uint8_t>(b); });
    peer.name = reader.text();
    if (!reader.is_whole() || port >= ports.size() || peer.id.generation == 0) return std::nullopt;
    peer.port = static_cast<Port>(port);
    peer.address = IpAddress::v6(address);
    return peer;
}

std::optional<NodeFrame> read_node_frame(std::span<const std::byte> body) {
    NodeReader reader(body);
    NodeFrame frame;
    frame.peer = reader.id();
    frame.rtt_us = reader.number<std::uint32_t>();
    frame.code = reader.number<Code>();
    if (reader.is_short()) return std::nullopt;
    frame.payload = reader.take_rest();
    return frame;
}

std::optional<NodeReport> read_node_report(std::span<const std::byte> body) {
    NodeReader reader(body);
    NodeReport report;
    report.peer = reader.id();
    report.detail = reader.number<std::uint8_t>();
    if (!reader.is_whole()) return std::nullopt;
    return report;
}

std::optional<NodeSend> read_node_send(std::span<const std::byte> body) {
    NodeReader reader(body);
    NodeSend send;
    send.peer = reader.id();
    if (reader.is_short()) return std::nullopt;
    send.frame = reader.take_rest();
    return send;
}

std::optional<NodeSendToAll> read_node_send_to_all(std::span<const std::byte> body) {
    NodeReader reader(body);
    const std::size_t count = reader.number<std::uint32_t>();
    if (reader.is_short() || count > reader.left() / sizeof(ConnectionId)) return std::nullopt;
    NodeSendToAll send;
    send.peers.reserve(count);
    for (std::size_t i = 0; i < count; ++i) send.peers.push_back(reader.id());
    send.frame = reader.take_rest();
    return send;
}

std::optional<NodeQuestion> read_node_question(std::span<const std::byte> body) {
    NodeReader reader(body);
    NodeQuestion question;
    question.number = reader.number<std::int64_t>();
    if (reader.is_short()) return std::nullopt;
    question.bytes = reader.take_rest();
    return question;
}

std::string_view node_text(std::span<const std::byte> body) {
    return {reinterpret_cast<const char*>(body.data()), body.size()};
}

void NodeWriter::hello(const NodeHello& hello) {
    const auto begun = begin(NodeKind::hello);
    bytes(bytes_of(magic));
    number(hello.version);
    number(hello.term);
    text(hello.cell);
    text(hello.node);
    text(hello.token);
    done(begun);
}

void NodeWriter::refused(std::string_view why) {
    const auto begun = begin(NodeKind::refused);
    bytes(bytes_of(why));
    done(begun);
}

void NodeWriter::opened(const NodePeer& peer) {
    const auto begun = begin(NodeKind::opened);
    id(peer.id);
    number(static_cast<std::uint8_t>(peer.port));
    bytes(std::as_bytes(std::span(peer.address.bytes())));
    text(peer.name);
    done(begun);
}

void NodeWriter::frame(const NodeFrame& frame) {
    const auto begun = begin(NodeKind::frame);
    id(frame.peer);
    number(frame.rtt_us);
    number(frame.code);
    bytes(frame.payload);
    done(begun);
}

void NodeWriter::report(NodeKind kind, ConnectionId peer, std::uint8_t detail) {
    const auto begun = begin(kind);
    id(peer);
    number(detail);
    done(begun);
}

void NodeWriter::send(ConnectionId to, std::span<const std::byte> frame) {
    const auto begun = begin(NodeKind::send);
    id(to);
    bytes(frame);
    done(begun);
}

void NodeWriter::send_to_all(std::span<const ConnectionId> to, std::span<const std::byte> frame) {
    const auto begun = begin(NodeKind::send_to_all);
    number(static_cast<std::uint32_t>(to.size()));
    for (const ConnectionId peer : to) id(peer);
    bytes(frame);
    done(begun);
}

void NodeWriter::question(NodeKind kind, std::int64_t number_of, std::span<const std::byte> more) {
    const auto begun = begin(kind);
    number(number_of);
    bytes(more);
    done(begun);
}

std::size_t NodeWriter::begin(NodeKind kind) {
    const std::size_t begun = out_.size();
    out_.resize(begun + sizeof(std::uint32_t));
    out_.push_back(static_cast<std::byte>(kind));
    return begun;
}

void NodeWriter::done(std::size_t begun) {
    const auto length = static_cast<std::uint32_t>(out_.size() - begun - sizeof(std::uint32_t));
    wire::put<ByteOrder::little>(length, out_.data() + begun);
}

template <class Number>
void NodeWriter::number(Number value) {
    std::array<std::byte, sizeof(Number)> stored{};
    wire::put<ByteOrder::little>(value, stored.data());
    bytes(stored);
}

void NodeWriter::id(ConnectionId peer) {
    number(peer.slot);
    number(peer.generation);
}

void NodeWriter::text(std::string_view letters) {
    const std::string_view kept = letters.substr(0, 0xFFFF);
    number(static_cast<std::uint16_t>(kept.size()));
    bytes(bytes_of(kept));
}

}  // namespace muster

// What nodes say to each other over the node port: a length, a kind, and a body by the kind, little-endian.
//
// A node that stands by opens the link and says hello; the owner answers welcome or refused. Then the one tells what
// its peers did, and the other what is for them. A peer is named by its connection at the node that has its socket.
// Each link is of one cell and one term, which its hello names: what belongs to another term cannot be on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/ip_address.h"
#include "protocol/port.h"

namespace muster {

enum class NodeKind : std::uint8_t {
    hello = 1,       // who comes, for which cell and term
    welcome,         // it may go on
    refused,         // it may not: a sentence
    opened,          // a peer came: its port, its own address, the name that its certificate proves
    frame,           // it said this
    malformed,       // it broke the protocol: a WireError
    gave_up,         // it missed a deadline: a LinkFault
    paused,          // it is not read for now
    resumed,         // it is again
    drained,         // all that it was sent has left
    closed,          // it is gone
    send,            // a frame for a peer
    send_to_all,     // one frame for many
    greeted,         // its handshake was accepted
    report_drained,  // say when all that it was sent has left
    close,           // close it once all has left
    cut,             // close it at once
    question,        // a question of the HTTP API: a number, and bytes that only the two ends understand
    answer,          // the same number, and the answer
    beat,            // a sign of life
};

// The first bytes of a stream of these.
struct NodeSplit {
    enum class Outcome : std::uint8_t { need_more, message, error };

    Outcome outcome = Outcome::need_more;
    NodeKind kind{};
    std::span<const std::byte> body{};  // points into the bytes that were given
    std::size_t size = 0;               // of the whole message
};

inline constexpr std::size_t node_head_size = sizeof(std::uint32_t) + sizeof(NodeKind);
// Before the hello is accepted nobody may send more.
inline constexpr std::size_t node_hello_max = 4096;
// A frame, or a question with its headers and its body.
inline constexpr std::size_t node_message_max = std::size_t{256} * 1024;
// An answer may be a long list.
inline constexpr std::size_t node_answer_max = std::size_t{64} * 1024 * 1024;

// Pure. A length beyond `length_max` or an unknown kind is an error: the stream has no next message.
NodeSplit next_node_message(std::span<const std::byte> bytes, std::size_t length_max);

struct NodeHello {
    static constexpr std::uint16_t present_version = 1;

    std::uint16_t version = present_version;
    std::int64_t term = 0;
    std::string cell{};
    std::string node{};
    std::string token{};
};

struct NodePeer {
    ConnectionId id{};
    Port port = Port::servers;
    IpAddress address{};
    std::string_view name{};
};

struct NodeFrame {
    ConnectionId peer{};
    std::uint32_t rtt_us = 0;
    Code code = 0;
    std::span<const std::byte> payload{};
};

// Of malformed and gave_up: what; of the others without a meaning.
struct NodeReport {
    ConnectionId peer{};
    std::uint8_t detail = 0;
};

struct NodeSend {
    ConnectionId peer{};
    std::span<const std::byte> frame{};
};

struct NodeSendToAll {
    std::vector<ConnectionId> peers{};
    std::span<const std::byte> frame{};
};

struct NodeQuestion {
    std::int64_t number = 0;
    std::span<const std::byte> bytes{};
};

// Nothing when the body is not one of that kind. Views point into it.
std::optional<NodeHello> read_node_hello(std::span<const std::byte> body);
std::optional<NodePeer> read_node_peer(std::span<const std::byte> body);
std::optional<NodeFrame> read_node_frame(std::span<const std::byte> body);
std::optional<NodeReport> read_node_report(std::span<const std::byte> body);
std::optional<NodeSend> read_node_send(std::span<const std::byte> body);
std::optional<NodeSendToAll> read_node_send_to_all(std::span<const std::byte> body);
std::optional<NodeQuestion> read_node_question(std::span<const std::byte> body);
std::string_view node_text(std::span<const std::byte> body);

// Appends whole messages to its bytes.
class NodeWriter {
public:
    explicit NodeWriter(std::vector<std::byte>& out) : out_(out) {}

    void hello(const NodeHello& hello);
    void welcome() { done(begin(NodeKind::welcome)); }
    void refused(std::string_view why);
    void opened(const NodePeer& peer);
    void frame(const NodeFrame& frame);
    // Any kind that says no more than whom it is about.
    void report(NodeKind kind, ConnectionId peer, std::uint8_t detail = 0);
    void send(ConnectionId to, std::span<const std::byte> frame);
    void send_to_all(std::span<const ConnectionId> to, std::span<const std::byte> frame);
    // A question or an answer.
    void question(NodeKind kind, std::int64_t number_of, std::span<const std::byte> more);
    void beat() { done(begin(NodeKind::beat)); }

private:
    std::size_t begin(NodeKind kind);
    void done(std::size_t begun);
    template <class Number>
    void number(Number value);
    void id(ConnectionId peer);
    void bytes(std::span<const std::byte> more) { out_.insert(out_.end(), more.begin(), more.end()); }
    void text(std::string_view letters);

    std::vector<std::byte>& out_;
};

}  // namespace muster

// A peer's frames, and a relay whose peers and owner are lists.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "protocol/codec.h"
#include "protocol/matchmaker_messages.h"
#include "protocol/player_messages.h"
#include "protocol/server_messages.h"
#include "relay/node_message.h"
#include "relay/relay.h"

namespace muster {

// A whole frame, and its payload alone.
template <Message M>
std::vector<std::byte> frame_of(const M& message) {
    std::vector<std::byte> bytes;
    encode(message, default_byte_order(M::port), bytes);
    return bytes;
}
template <Message M>
std::vector<std::byte> payload_of(const M& message) {
    const auto bytes = frame_of(message);
    return {bytes.begin() + frame_head_size, bytes.end()};
}

inline AllocationRequest asks_for(std::int32_t lobby) {
    AllocationRequest request;
    request.lobby = LobbyId(lobby);
    request.player_count = 10;
    return request;
}
inline AllocationResponse refused(std::int32_t lobby) {
    AllocationResponse response;
    response.answer = AllocationResponse::Refused{LobbyId(lobby), ErrorText("No servers available")};
    return response;
}

// What was done to peers, in words.
struct ListedPeers final : PeerOutput {
    void send(ConnectionId to, std::span<const std::byte> frame) override {
        const Code code = wire::get<ByteOrder::little, Code>(frame.data() + 2);
        done.push_back("send " + std::to_string(to.slot) + " " + std::to_string(code));
    }
    void greeted(ConnectionId link) override { done.push_back("greeted " + std::to_string(link.slot)); }
    void report_drained(ConnectionId link) override { done.push_back("drain " + std::to_string(link.slot)); }
    void close(ConnectionId link) override { done.push_back("close " + std::to_string(link.slot)); }
    void cut(ConnectionId link) override { done.push_back("cut " + std::to_string(link.slot)); }
    ByteOrder order_of(Port port) const override { return default_byte_order(port); }

    std::vector<std::string> take() { return std::exchange(done, {}); }
    std::vector<std::string> done;
};

// What the owner would hear, in words.
inline std::vector<std::string> heard_in(const std::vector<std::byte>& bytes) {
    std::vector<std::string> heard;
    std::span<const std::byte> rest = bytes;
    while (!rest.empty()) {
        const NodeSplit split = next_node_message(rest, node_message_max);
        if (split.outcome != NodeSplit::Outcome::message) return {"no message"};
        rest = rest.subspan(split.size);
        if (split.kind == NodeKind::opened) heard.emplace_back("opened");
        if (split.kind == NodeKind::frame)
            heard.push_back("frame " + std::to_string(read_node_frame(split.body)->code));
        if (split.kind == NodeKind::paused) heard.emplace_back("paused");
        if (split.kind == NodeKind::malformed) heard.emplace_back("malformed");
        if (split.kind == NodeKind::drained) heard.emplace_back("drained");
        if (split.kind == NodeKind::closed) heard.emplace_back("closed");
    }
    return heard;
}

}  // namespace muster

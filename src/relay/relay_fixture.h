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

}  // namespace muster

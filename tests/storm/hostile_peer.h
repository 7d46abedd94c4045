// A link of an attacker that speaks the protocol, as far as it pleases.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "attack.h"
#include "credential.h"
#include "protocol/codec.h"
#include "protocol/frame_reader.h"
#include "protocol/matchmaker_messages.h"
#include "protocol/player_messages.h"
#include "protocol/server_messages.h"
#include "raw_socket.h"

namespace muster::storm {

// One thread.
class HostilePeer {
public:
    // Where attackers with valid secrets register: no honest server is there.
    static constexpr std::int8_t region = 15;

    HostilePeer() = default;
    HostilePeer(std::uint32_t from, std::uint16_t port, ByteOrder order) : socket_(from, port), order_(order) {}

    template <Message M>
    void say(const M& message) {
        encode(message, order_, out_);
    }
    void say_bytes(std::span<const std::byte> bytes) { out_.insert(out_.end(), bytes.begin(), bytes.end()); }

    void register_server(const Secrets& secrets, std::int32_t port) {
        say(ServerHandshake{secrets.server_token, {"127.0.0.1", port}, RegionId(region), 10});
    }
    void register_matchmaker(const Secrets& secrets, std::string_view name) {
        MatchmakerHandshake hello{secrets.matchmaker_token, name, {}};
        hello.regions.items.push_back(RegionId(region));
        say(hello);
    }
    void log_in(const Secrets& secrets, std::string_view name, std::int32_t account) {
        constexpr std::int64_t far_away = 4'000'000'000;
        say(PlayerLogin{name, signed_credential(secrets.player_key, {name, account, far_away}), ""});
    }

    // Sends what waits. At most `unsent_most` bytes are kept for a daemon that does not read.
    void flush() {
        const std::size_t sent = socket_.send(std::span(out_));
        out_.erase(out_.begin(), out_.begin() + static_cast<std::ptrdiff_t>(sent));
        if (out_.size() > unsent_most) out_.clear();
    }
    bool waits() const { return !out_.empty(); }
    // Calls use(code, payload) for each frame that has come.
    void read(auto&& use) {
        const std::string got = socket_.receive();
        const auto bytes = std::as_bytes(std::span(got));
        in_.insert(in_.end(), bytes.begin(), bytes.end());
        std::size_t at = 0;
        for (;;) {
            const FrameSplit split = next_frame(std::span(in_).subspan(at), order_, 65'535);
            if (split.kind != FrameSplit::Kind::frame) break;
            at += split.size;
            use(split.code, split.payload);
        }
        in_.erase(in_.begin(), in_.begin() + static_cast<std::ptrdiff_t>(at));
    }
    RawSocket& socket() { return socket_; }
    bool open() const { return socket_.open(); }

private:
    static constexpr std::size_t unsent_most = 1 << 20;

    RawSocket socket_;
    ByteOrder order_ = ByteOrder::little;
    std::vector<std::byte> in_;
    std::vector<std::byte> out_;
};

}  // namespace muster::storm

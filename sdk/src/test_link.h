// For tests: stands in for the runner and for Muster at the other end, under a time of its own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "muster/client.h"
#include "muster/time.h"
#include "protocol/codec.h"
#include "protocol/dispatch.h"
#include "protocol/frame_reader.h"
#include "protocol/message.h"
#include "protocol/messages.h"
#include "protocol/port.h"

namespace muster::sdk {

inline std::string name_of(LinkState state) {
    switch (state) {
        case LinkState::connecting:
            return "connecting";
        case LinkState::online:
            return "online";
        case LinkState::isolated:
            return "isolated";
        case LinkState::closed:
            return "closed";
    }
    return "";
}

template <Port port, ByteOrder order = default_byte_order(port)>
class TestLink {
public:
    explicit TestLink(Client& client, Time start = Time(std::chrono::hours(1))) : client_(client), now_(start) {
        client_.tick(now_);
    }

    Time now() const { return now_; }
    // Whether the client wants a connection and has none, and the other way round.
    bool wanted() const { return client_.wants_connection() && !connected_; }
    bool dropped() const { return !client_.wants_connection() && connected_; }

    void connect() {
        REQUIRE(wanted());
        connected_ = true;
        client_.connected(now_);
        collect();
    }
    void lose() {
        frames_.clear();
        unread_.clear();
        connected_ = false;
        client_.disconnected(now_);
    }
    // Loses the link, waits out the pause, connects anew.
    void reconnect() {
        lose();
        for (int i = 0; i < 100 && !wanted(); ++i) advance(std::chrono::milliseconds(100));
        connect();
    }

    // Lets time pass, as a runner does: tick() whenever it is due.
    void advance(Duration by) {
        const Time until = now_ + by;
        for (int turns = 0; turns < 1'000'000; ++turns) {
            const auto next = client_.next_tick();
            if (!next || *next > until) break;
            now_ = std::max(now_, *next);
            client_.tick(now_);
            collect();
            if (client_.next_tick() && *client_.next_tick() <= now_ && dropped()) break;
        }
        now_ = until;
        client_.tick(now_);
        collect();
    }
    // A machine that stood still: time has passed, and nobody was called.
    void freeze(Duration by) { now_ += by; }

    // What the client said next.
    template <Message M>
    M heard() {
        collect();
        INFO("waiting for " << std::string(M::name));
        REQUIRE_FALSE(frames_.empty());
        const Frame frame = std::move(frames_.front());
        frames_.pop_front();
        INFO("heard " << std::string(message_name(port, Direction::in, frame.code)));
        REQUIRE(frame.code == M::code);
        auto message = decode<M>(frame.payload, order);
        REQUIRE(message.has_value());
        return *message;
    }
    bool silent() {
        collect();
        return frames_.empty();
    }
    template <Message M>
    std::size_t count_of() {
        collect();
        return static_cast<std::size_t>(std::ranges::count(frames_, M::code, &Frame::code));
    }
    // Calls `visitor` with what the client said next. False when it said nothing.
    template <class Visitor>
    bool next(Visitor&& visitor) {
        if (silent()) return false;
        const Frame frame = std::move(frames_.front());
        frames_.pop_front();
        REQUIRE(visit_inbound<port>(order, frame.code, frame.payload, visitor).has_value());
        return true;
    }
    void forget() {
        collect();
        frames_.clear();
    }

    // Muster says this.
    template <Message M>
    void say(const M& message) {
        std::vector<std::byte> bytes;
        encode(message, order, bytes);
        say_bytes(bytes);
    }
    void say_bytes(std::span<const std::byte> bytes) {
        client_.receive(bytes, now_);
        collect();
    }

private:
    struct Frame {
        Code code = 0;
        std::vector<std::byte> payload{};
    };

    void collect() {
        const auto bytes = client_.take_output();
        if (!connected_) {
            CHECK(bytes.empty());
            return;
        }
        unread_.insert(unread_.end(), bytes.begin(), bytes.end());
        for (;;) {
            const FrameSplit frame = next_frame(unread_, order, default_length_max(port));
            REQUIRE(frame.kind != FrameSplit::Kind::error);
            if (frame.kind == FrameSplit::Kind::need_more) return;
            frames_.push_back({frame.code, {frame.payload.begin(), frame.payload.end()}});
            unread_.erase(unread_.begin(), unread_.begin() + static_cast<std::ptrdiff_t>(frame.size));
        }
    }

    Client& client_;
    Time now_;
    bool connected_ = false;
    std::vector<std::byte> unread_;
    std::deque<Frame> frames_;
};

}  // namespace muster::sdk

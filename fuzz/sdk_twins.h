// A client of the SDK twice, by its C++ and by its C interface, told the same: both must say and want the same, however
// the bytes are cut. Stands in for the runner and for Muster.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "muster/client.h"
#include "muster/muster.h"
#include "muster/time.h"
#include "protocol/codec.h"
#include "protocol/dispatch.h"
#include "protocol/frame_reader.h"
#include "protocol/message_samples.h"
#include "protocol/messages.h"

namespace muster::fuzz {

using Bytes = std::vector<std::byte>;

// Longer ones slow a fuzzer down and show nothing that shorter ones do not.
inline constexpr std::size_t sample_size_max = 1'024;

// Whatever Muster may say on that port, each a whole frame, by our own encoder.
template <Port At>
const std::vector<Bytes>& sample_frames(ByteOrder order) {
    static const auto make = [](ByteOrder wanted) {
        std::vector<Bytes> frames;
        MessagesOf<At>::for_each([&]<class M>() {
            if constexpr (M::direction != Direction::in) {
                for (const M& message : message_samples<M>(8)) {
                    encode(message, wanted, frames.emplace_back());
                    if (frames.back().size() > sample_size_max) frames.pop_back();
                }
            }
        });
        return frames;
    };
    static const std::vector<Bytes> little = make(ByteOrder::little);
    static const std::vector<Bytes> big = make(ByteOrder::big);
    return order == ByteOrder::little ? little : big;
}

template <Port At>
class SdkTwins {
public:
    SdkTwins(sdk::Client& cpp, muster_client* c, ByteOrder order) : cpp_(cpp), c_(c), order_(order) {
        MUSTER_CHECK(c_ != nullptr, "what is right in C++ is right in C");
        cpp_.seed_jitter(1);
        muster_client_seed_jitter(c_, 1);
        tick();
    }

    ByteOrder order() const { return order_; }

    // A connection is made, refused or lost, whichever can be.
    void turn_link(bool well) {
        if (!connected_ && wants() && well) {
            connected_ = true;
            cpp_.connected(now());
            muster_client_connected(c_, now_us_);
        } else if (connected_ || wants()) {
            connected_ = false;
            unread_.clear();
            cpp_.disconnected(now());
            muster_client_disconnected(c_, now_us_);
        }
        compare();
    }

    void say_bytes(std::span<const std::byte> bytes, std::size_t piece) {
        if (!connected_) return;
        cpp_.receive(bytes, now());
        while (!bytes.empty()) {
            const auto part = bytes.first(piece == 0 ? bytes.size() : std::min(piece, bytes.size()));
            muster_client_receive(c_, part.data(), part.size(), now_us_);
            bytes = bytes.subspan(part.size());
        }
        compare();
    }
    template <Message M>
    void say(const M& message) {
        Bytes frame;
        encode(message, order_, frame);
        say_bytes(frame, 0);
    }

    void advance(std::int64_t milliseconds) {
        constexpr int ticks_max = 10'000;  // a client that is due at once, again and again, would never let time pass
        const std::int64_t end = now_us_ + milliseconds * 1'000;
        for (int i = 0; muster_client_next_tick(c_) <= end; ++i) {
            MUSTER_CHECK(i < ticks_max, "time goes on");
            if (connected_ && !wants()) turn_link(false);
            now_us_ = std::max(now_us_, muster_client_next_tick(c_));
            if (now_us_ > end) break;
            tick();
        }
        now_us_ = end;
        tick();
    }

    // They stand the same, and what they say is messages of this port.
    void compare() {
        const std::optional<sdk::Time> next = cpp_.next_tick();
        const std::int64_t next_us =
            next ? std::chrono::ceil<std::chrono::microseconds>(next->time_since_epoch()).count() : MUSTER_NEVER;
        MUSTER_CHECK(next_us == muster_client_next_tick(c_), "both are due at the same time");
        MUSTER_CHECK(cpp_.wants_connection() == muster_client_wants_connection(c_), "both want the same");

        const Bytes said = cpp_.take_output();
        Bytes said_in_c;
        std::array<std::byte, 48> buffer;
        while (const std::size_t count = muster_client_take_output(c_, buffer.data(), buffer.size()))
            said_in_c.insert(said_in_c.end(), buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(count));
        MUSTER_CHECK(said == said_in_c, "both say the same");
        MUSTER_CHECK(connected_ || said.empty(), "nothing is said to nobody");
        hear(said);
        muster_clock clock{};
        muster_client_clock(c_, now_us_, &clock);
    }

private:
    sdk::Time now() const { return sdk::Time(std::chrono::microseconds(now_us_)); }
    bool wants() const { return cpp_.wants_connection(); }

    void tick() {
        cpp_.tick(now());
        muster_client_tick(c_, now_us_);
        compare();
    }

    void hear(const Bytes& said) {
        unread_.insert(unread_.end(), said.begin(), said.end());
        std::span<const std::byte> left = unread_;
        for (;;) {
            const FrameSplit frame = next_frame(left, order_, default_length_max(At));
            MUSTER_CHECK(frame.kind != FrameSplit::Kind::error, "a client says frames");
            if (frame.kind == FrameSplit::Kind::need_more) break;
            const auto known = visit_inbound<At>(order_, frame.code, frame.payload, [](const auto&) {});
            MUSTER_CHECK(known.has_value(), "a client says what Muster knows");
            left = left.subspan(frame.size);
        }
        unread_.erase(unread_.begin(), unread_.end() - static_cast<std::ptrdiff_t>(left.size()));
    }

    sdk::Client& cpp_;
    muster_client* c_;
    ByteOrder order_;
    std::int64_t now_us_ = 3'600'000'000;
    bool connected_ = false;
    Bytes unread_;
};

}  // namespace muster::fuzz

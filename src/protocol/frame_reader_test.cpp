#include "protocol/frame_reader.h"

#include <algorithm>
#include <vector>

#include <doctest/doctest.h>

#include "base/random.h"
#include "protocol/messages.h"
#include "protocol/sample_frames.h"

using namespace muster;

namespace {

using SplitKind = FrameSplit::Kind;

Bytes length_bytes(std::uint16_t length, ByteOrder order) {
    const auto high = static_cast<std::byte>(length >> 8);
    const auto low = static_cast<std::byte>(length);
    return order == ByteOrder::big ? Bytes{high, low} : Bytes{low, high};
}

struct Frame {
    Code code;
    Bytes payload;
    bool operator==(const Frame&) const = default;
};

// A connection as a network loop keeps it: frames are taken from where the bytes lie, and only a partial rest is kept.
class Connection {
public:
    explicit Connection(ByteOrder order) : order_(order) {}

    void receive(std::span<const std::byte> bytes) {
        rest_.insert(rest_.end(), bytes.begin(), bytes.end());
        std::span<const std::byte> left = rest_;
        for (;;) {
            const FrameSplit split = next_frame(left, order_, 65'535);
            REQUIRE(split.kind != SplitKind::error);
            if (split.kind == SplitKind::need_more) break;
            frames.push_back({split.code, Bytes(split.payload.begin(), split.payload.end())});
            left = left.subspan(split.size);
        }
        rest_.erase(rest_.begin(), rest_.end() - static_cast<std::ptrdiff_t>(left.size()));
    }

    std::vector<Frame> frames;
    bool between_frames() const { return rest_.empty(); }

private:
    ByteOrder order_;
    Bytes rest_;
};

}  // namespace

TEST_CASE("W-1, fault 24: all 65,536 lengths against the limits are judged by their two bytes alone") {
    for (const ByteOrder order : byte_orders) {
        for (const std::uint32_t limit : {2U, 3U, 255U, 256U, 8'192U, 32'767U, 65'534U, 65'535U}) {
            for (std::uint32_t length = 0; length <= 65'535; ++length) {
                const FrameSplit split = next_frame(length_bytes(static_cast<std::uint16_t>(length), order), order,
                                                    static_cast<std::uint16_t>(limit));
                if (length < 2) {
                    REQUIRE(split.kind == SplitKind::error);
                    REQUIRE(split.error == WireError::bad_length);
                } else if (length > limit) {
                    REQUIRE(split.kind == SplitKind::error);
                    REQUIRE(split.error == WireError::too_large);
                } else {
                    REQUIRE(split.kind == SplitKind::need_more);
                    REQUIRE(split.size == 2 + length);
                }
            }
        }
    }
}

TEST_CASE("W-7: the default limits take 8192 from servers and players and 65535 from matchmakers") {
    CHECK(default_length_max(Port::servers) == 8'192);
    CHECK(default_length_max(Port::players) == 8'192);
    CHECK(default_length_max(Port::matchmakers) == 65'535);
    // No peer that keeps to its strings and counts is ever too large.
    for_each_message([]<class M>() {
        CAPTURE(M::name);
        if (M::direction == Direction::in) CHECK(2 + extent<M>().most <= default_length_max(M::port));
    });
}

TEST_CASE("W-1: with fewer than two bytes nothing is known but that a length comes") {
    for (const std::size_t size : {0U, 1U}) {
        const FrameSplit split = next_frame(Bytes(size), ByteOrder::big, 8'192);
        CHECK(split.kind == SplitKind::need_more);
        CHECK(split.size == 2);
    }
}

TEST_CASE("W-1, fault 22: every split point of every message gives the same frame, without a copy") {
    for (const SampleFrame& sample : sample_frames()) {
        CAPTURE(sample.name);
        Bytes bytes = sample.frame;
        for (std::size_t size = 0; size < bytes.size(); ++size) {
            REQUIRE(next_frame(std::span(bytes).first(size), sample.order, 65'535).kind == SplitKind::need_more);
        }
        bytes.push_back(std::byte{0xFF});  // the next frame's first byte
        const FrameSplit split = next_frame(bytes, sample.order, 65'535);
        REQUIRE(split.kind == SplitKind::frame);
        REQUIRE(split.code == sample.code);
        REQUIRE(split.size == sample.frame.size());
        REQUIRE(split.payload.data() == bytes.data() + 4);
        REQUIRE(split.payload.size() == sample.frame.size() - 4);
    }
}

TEST_CASE("fault 22: one byte at a time, many frames at once, and any pieces between give the same frames") {
    for (const ByteOrder order : byte_orders) {
        Bytes stream;
        std::vector<Frame> sent;
        for (const SampleFrame& sample : sample_frames()) {
            if (sample.order != order || sample.frame.size() > 600) continue;
            stream.insert(stream.end(), sample.frame.begin(), sample.frame.end());
            sent.push_back({sample.code, Bytes(sample.payload().begin(), sample.payload().end())});
        }
        Random random(22);
        for (const std::size_t piece_max : {1UL, 2UL, 3UL, 7UL, 64UL, 1'500UL, stream.size()}) {
            Connection connection(order);
            std::span<const std::byte> left = stream;
            while (!left.empty()) {
                const std::size_t wanted = piece_max < 4 ? piece_max : 1 + random.below(piece_max);
                const std::size_t piece = std::min(left.size(), wanted);
                connection.receive(left.first(piece));
                left = left.subspan(piece);
            }
            CHECK(connection.between_frames());
            CHECK(connection.frames == sent);
        }
    }
}

// What all fuzz targets do: bytes from a peer, in pieces, through everything that reads them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/check.h"
#include "protocol/codec.h"
#include "protocol/dispatch.h"
#include "protocol/frame_reader.h"
#include "protocol/json_view.h"
#include "protocol/messages.h"
#include "protocol/refusal_answer.h"

namespace muster::fuzz {

using Bytes = std::vector<std::byte>;
using ByteView = std::span<const std::byte>;

// An input's first bytes say how its stream is sent; make_seeds writes them too.
struct Plan {
    ByteOrder order = ByteOrder::little;
    bool greeted = false;
    ByteView pieces;  // each one less than the size of a piece; used in turn, all at once when there are none
    ByteView stream;
};

inline constexpr std::size_t pieces_max = 7;

inline Plan plan_of(ByteView input) {
    if (input.empty()) return {};
    const auto head = std::to_integer<unsigned>(input[0]);
    const std::size_t pieces = std::min<std::size_t>((head >> 2) % (pieces_max + 1), input.size() - 1);
    return {.order = (head & 1U) != 0 ? ByteOrder::big : ByteOrder::little,
            .greeted = (head & 2U) != 0,
            .pieces = input.subspan(1, pieces),
            .stream = input.subspan(1 + pieces)};
}

inline bool same(ByteView a, ByteView b) {
    return std::ranges::equal(a, b);
}

// A decoded message is what its bytes say and no more: encoded again it gives them back.
struct EncodesBack {
    ByteOrder order;
    ByteView frame;

    template <Message M>
    void operator()(const M& message) const {
        Bytes again;
        encode(message, order, again);
        MUSTER_CHECK(same(again, frame), "a message has one encoding");
        MUSTER_CHECK(to_json(message).size() >= 2, "a message has a JSON view");
    }
    void operator()(const GameMessage& message) const {
        Bytes again;
        encode_raw(message.code, message.payload, order, again);
        MUSTER_CHECK(same(again, frame), "the game's own messages pass as they are");
    }
};

// One fuzz target: `At` is its port.
template <Port At>
class PortFuzz {
public:
    explicit PortFuzz(ByteView input) : plan_(plan_of(input)) {}

    void run() {
        const Read whole = read_all();
        const Read pieces = read_pieces();
        MUSTER_CHECK(whole.sizes == pieces.sizes && whole.fault == pieces.fault, "how a stream is cut changes nothing");
        ByteView left = plan_.stream;
        for (const std::size_t size : whole.sizes) {
            visit(left.first(size));
            left = left.subspan(size);
        }
        if (!whole.sizes.empty()) {
            const FrameSplit first = next(plan_.stream);
            check_answer(first, WireError::before_handshake);
            check_answer(first, WireError::second_handshake);
        }
        if (whole.fault) check_answer({}, *whole.fault);
    }

private:
    struct Read {
        std::vector<std::size_t> sizes;  // of the frames
        std::optional<WireError> fault;
    };

    FrameSplit next(ByteView bytes) const { return next_frame(bytes, plan_.order, default_length_max(At)); }

    Read read_all() const {
        Read read;
        take_frames(plan_.stream, read);
        return read;
    }

    // As a connection does: only the rest that is not yet a frame is kept from piece to piece.
    Read read_pieces() const {
        Read read;
        Bytes rest;
        ByteView left = plan_.stream;
        for (std::size_t turn = 0; !left.empty() && !read.fault; ++turn) {
            std::size_t size = left.size();
            if (!plan_.pieces.empty()) {
                size = 1 + std::to_integer<std::size_t>(plan_.pieces[turn % plan_.pieces.size()]);
            }
            size = std::min(size, left.size());
            rest.insert(rest.end(), left.begin(), left.begin() + static_cast<std::ptrdiff_t>(size));
            left = left.subspan(size);
            const ByteView kept = take_frames(rest, read);
            rest.erase(rest.begin(), rest.end() - static_cast<std::ptrdiff_t>(kept.size()));
        }
        return read;
    }

    ByteView take_frames(ByteView bytes, Read& read) const {
        for (;;) {
            const FrameSplit split = next(bytes);
            if (split.kind == FrameSplit::Kind::error) read.fault = split.error;
            if (split.kind != FrameSplit::Kind::frame) return bytes;
            read.sizes.push_back(split.size);
            bytes = bytes.subspan(split.size);
        }
    }

    void visit(ByteView frame) const {
        const FrameSplit split = next(frame);
        const EncodesBack check{plan_.order, frame};
        const auto in = visit_inbound<At>(plan_.order, split.code, split.payload, check);
        const auto out = visit_outbound<At>(plan_.order, split.code, split.payload, check);
        const bool known_in = classify(At, Direction::in, split.code) == CodeClass::known;
        const bool known_out = classify(At, Direction::out, split.code) == CodeClass::known;
        MUSTER_CHECK(known_in || !in, "only what is known is visited");
        MUSTER_CHECK(known_out || !out, "only what is known is visited");
        if (!in) check_answer(split, in.error());
    }

    // Whatever is refused, the peer can read the answer.
    void check_answer(const FrameSplit& refused, WireError kind) const {
        Bytes answer;
        malformed_answer({.port = At,
                          .order = plan_.order,
                          .greeted = plan_.greeted,
                          .code = refused.code,
                          .payload = refused.payload},
                         kind, answer);
        const FrameSplit split = next(answer);
        MUSTER_CHECK(split.kind == FrameSplit::Kind::frame && split.size == answer.size(), "an answer is one frame");
        MUSTER_CHECK(visit_outbound<At>(plan_.order, split.code, split.payload, EncodesBack{plan_.order, answer}),
                     "an answer is a message that Muster sends");
    }

    Plan plan_;
};

template <Port At>
int run(const std::uint8_t* data, std::size_t size) {
    PortFuzz<At>(std::as_bytes(std::span(data, size))).run();
    return 0;
}

}  // namespace muster::fuzz

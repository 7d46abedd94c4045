// Messages at the edges of what their fields can be, made from the layouts: what tests try and fuzzers start from.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "protocol/extent.h"
#include "protocol/field_types.h"
#include "protocol/message.h"
#include "protocol/text.h"

namespace muster {

// The same messages on every run: each edge in all fields at once, then edges mixed by chance. Answers come in both
// forms.
template <Message M>
std::vector<M> message_samples(std::size_t mixed = 24);

namespace wire {

// Told a layout, sets each field to one of its edges.
class EdgeFiller {
public:
    static constexpr std::size_t edge_count = 5;

    // All fields to their edge number `edge`, an answer to its form number `form`.
    EdgeFiller(std::size_t edge, std::size_t form) : edge_(edge), form_(form) {}
    // Each field to an edge by chance.
    explicit EdgeFiller(Random& random) : random_(&random) {}

    template <ScalarField T>
    void operator()(std::string_view, T& field) {
        using Number = typename Scalar<T>::Number;
        // An enum or a flag does not accept every edge; the ones around it lead to one that it does.
        std::size_t edge = pick();
        while (!Scalar<T>::accept(number_edge<Number>(edge), field)) edge = (edge + 1) % enum_edges;
    }
    template <TextField T>
    void operator()(std::string_view, T& text) {
        text = text_edge(pick(), T::size_max);
    }
    template <class Count, class T>
    void operator()(std::string_view, List<Count, T>& list) {
        // As many as the count can say and a frame can hold, with room for the fields before.
        const auto most =
            std::min(static_cast<std::size_t>(list.count_max), (payload_size_max - 1024) / extent<T>().most);
        const std::size_t sizes[edge_count] = {0, 1, 2, 3, most};
        list.items.resize(sizes[pick()]);
        for (T& item : list.items) tell_part(item, *this);
    }
    template <class Accepted, class Refused>
    void operator()(std::string_view, Either<Accepted, Refused>& either) {
        if ((random_ ? random_->below(2) : form_) == 0) {
            tell_part(either.template emplace<0>(), *this);
        } else {
            tell_part(either.template emplace<1>(), *this);
        }
    }

private:
    static constexpr std::size_t enum_edges = 8;

    std::size_t pick() { return random_ ? random_->below(edge_count) : edge_; }

    // 0, 1, −1, the least, the greatest, then what enums need.
    template <WireNumber N>
    static N number_edge(std::size_t edge) {
        if constexpr (std::same_as<N, float>) {
            constexpr std::uint32_t edges[enum_edges] = {0, 0x42'34'CC'CD, 0x7F'C0'12'34, 0xFF'80'00'00, 0x7F'80'00'01};
            return std::bit_cast<float>(edges[edge]);  // 0, 45.2, NaN, −∞, a signalling NaN
        } else {
            using Limits = std::numeric_limits<N>;
            const N edges[enum_edges] = {0, 1, static_cast<N>(-1), Limits::min(), Limits::max(), 2, 3, 4};
            return edges[edge];
        }
    }

    // Empty, one letter, controls and signs that mean something elsewhere, the longest of one-byte characters and of
    // larger ones.
    static std::string text_edge(std::size_t edge, std::size_t size_max) {
        using namespace std::string_view_literals;
        switch (edge) {
            case 0:
                return "";
            case 1:
                return "a";
            case 2:
                return std::string("\0\x1B[31m<b>%s'\"\n"sv.substr(0, size_max));
            case 3:
                return std::string(size_max, 'x');
            default:
                break;
        }
        std::string text(size_max % 2, 'y');
        while (text.size() < size_max) text += "ë";
        return text;
    }

    Random* random_ = nullptr;
    std::size_t edge_ = 0;
    std::size_t form_ = 0;
};

}  // namespace wire

template <Message M>
std::vector<M> message_samples(std::size_t mixed) {
    std::vector<M> samples;
    const auto add = [&](wire::EdgeFiller filler) { M::layout(samples.emplace_back(), filler); };
    for (std::size_t edge = 0; edge < wire::EdgeFiller::edge_count; ++edge) {
        for (std::size_t form = 0; form < 2; ++form) add({edge, form});
    }
    Random random(M::code);
    for (std::size_t i = 0; i < mixed; ++i) add(wire::EdgeFiller(random));
    return samples;
}

}  // namespace muster

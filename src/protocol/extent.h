// How many bytes a layout may take on the wire, from its declaration alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

#include "protocol/field_types.h"
#include "protocol/text.h"

namespace muster {

// A frame's `length` counts the code and the payload (W-1).
inline constexpr std::size_t frame_length_max = std::numeric_limits<std::uint16_t>::max();
inline constexpr std::size_t payload_size_max = frame_length_max - sizeof(std::uint16_t);

struct Extent {
    std::size_t least = 0;
    std::size_t most = 0;  // no more than a payload can hold
};

template <class T>
constexpr Extent extent();

namespace wire {

// Told a layout, adds up its extent.
class ExtentSum {
public:
    template <ScalarField T>
    constexpr void operator()(std::string_view, const T&) {
        add({sizeof(typename Scalar<T>::Number), sizeof(typename Scalar<T>::Number)});
    }
    template <TextField T>
    constexpr void operator()(std::string_view, const T&) {
        add({sizeof(std::uint16_t), sizeof(std::uint16_t) + T::size_max});
    }
    template <class Count, class T>
    constexpr void operator()(std::string_view, const List<Count, T>& list) {
        const auto count_max = std::min(static_cast<std::size_t>(list.count_max), payload_size_max);
        add({sizeof(Count), sizeof(Count) + count_max * extent<T>().most});
    }
    template <class Accepted, class Refused>
    constexpr void operator()(std::string_view, const Either<Accepted, Refused>&) {
        const Extent yes = extent<Accepted>();
        const Extent no = extent<Refused>();
        add({1 + std::min(yes.least, no.least), 1 + std::max(yes.most, no.most)});
    }

    constexpr Extent sum() const { return sum_; }

private:
    constexpr void add(Extent field) {
        sum_.least += field.least;
        sum_.most = std::min(sum_.most + field.most, payload_size_max);
    }

    Extent sum_;
};

}  // namespace wire

// Of a scalar, or of a struct with a layout.
template <class T>
constexpr Extent extent() {
    wire::ExtentSum sum;
    const T value{};
    tell_part(value, sum);
    return sum.sum();
}

// Whether all payloads of M have one size. Only scalars make such a struct, and only such a struct is trivial to copy.
template <class M>
constexpr bool is_fixed_size() {
    if constexpr (std::is_trivially_copyable_v<M>) {
        constexpr Extent all = extent<M>();
        return all.least == all.most;
    } else {
        return false;
    }
}

}  // namespace muster

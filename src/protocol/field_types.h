// What a message's field may be besides a Text: a number, a flag, an id, a time, an enum, a list, or one of two forms.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/time.h"

namespace muster {

template <class T, class... Of>
concept OneOf = (std::same_as<T, Of> || ...);

// W-2, less the strings.
template <class T>
concept WireNumber =
    OneOf<T, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, float>;

// As the specification writes it: i8, u16, f32.
template <WireNumber N>
constexpr std::string_view number_name() {
    if constexpr (std::same_as<N, float>) return "f32";
    constexpr std::string_view with_sign[] = {"i8", "i16", "", "i32", "", "", "", "i64"};
    constexpr std::string_view without_sign[] = {"u8", "u16", "", "u32"};
    return std::is_signed_v<N> ? with_sign[sizeof(N) - 1] : without_sign[sizeof(N) - 1];
}

// A field that is one number on the wire. `accept` is false for numbers that the field never has (bad_value).
template <class T>
struct Scalar;

template <class T>
concept ScalarField = requires { typename Scalar<T>::Number; };

template <WireNumber N>
struct Scalar<N> {
    using Number = N;
    static constexpr N number(N value) { return value; }
    static constexpr bool accept(N number, N& value) {
        value = number;
        return true;
    }
};

template <>
struct Scalar<bool> {
    using Number = std::int8_t;
    static constexpr Number number(bool value) { return value ? 1 : 0; }
    static constexpr bool accept(Number number, bool& value) {
        value = number == 1;
        return number == 0 || number == 1;
    }
};

// A flag that is always 1: an answer that has no failure form.
struct FlagSet {
    friend constexpr bool operator==(const FlagSet&, const FlagSet&) = default;
};

template <>
struct Scalar<FlagSet> {
    using Number = std::int8_t;
    static constexpr Number number(FlagSet) { return 1; }
    static constexpr bool accept(Number number, FlagSet&) { return number == 1; }
};

template <class Tag, class N>
struct Scalar<Id<Tag, N>> {
    using Number = N;
    static constexpr N number(Id<Tag, N> id) { return id.value; }
    static constexpr bool accept(N number, Id<Tag, N>& id) {
        id.value = number;
        return true;
    }
};

template <>
struct Scalar<UnixMs> {
    using Number = std::int64_t;
    static constexpr Number number(UnixMs time) { return time.value; }
    static constexpr bool accept(Number number, UnixMs& time) {
        time.value = number;
        return true;
    }
};

// Each enum of the wire declares its `first` and `last`; every number between them is an enumerator, and to_string()
// names it.
template <class E>
struct EnumRange;

template <class E>
concept WireEnum = std::is_enum_v<E> && requires {
    EnumRange<E>::first;
    EnumRange<E>::last;
};

template <WireEnum E>
struct Scalar<E> {
    using Number = std::underlying_type_t<E>;
    static constexpr Number number(E value) { return static_cast<Number>(value); }
    static constexpr bool accept(Number number, E& value) {
        if (number < static_cast<Number>(EnumRange<E>::first)) return false;
        if (number > static_cast<Number>(EnumRange<E>::last)) return false;
        value = static_cast<E>(number);
        return true;
    }
};

// A count, then that many items. An item is a scalar or a struct with a layout of its own.
template <std::signed_integral Count, class T>
struct List {
    static constexpr auto count_max = std::numeric_limits<Count>::max();

    std::vector<T> items{};

    friend bool operator==(const List&, const List&) = default;
};

// An answer's two forms: i8 1 and the fields of Accepted, or i8 0 and the fields of Refused.
template <class Accepted, class Refused>
using Either = std::variant<Accepted, Refused>;

// Tells `wire` one item of a list, or one form of an answer: a scalar has no name, a struct names its own fields.
template <class T>
constexpr void tell_part(T& value, auto& wire) {
    if constexpr (ScalarField<std::remove_const_t<T>>) {
        wire("", value);
    } else {
        T::layout(value, wire);
    }
}

}  // namespace muster

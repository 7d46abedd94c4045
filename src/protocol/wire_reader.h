// The half of the codec that reads. It never reads past the payload and never allocates from a count that it has not
// checked against the bytes that are there (W-5).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/utf8.h"
#include "protocol/extent.h"
#include "protocol/field_types.h"
#include "protocol/port.h"
#include "protocol/text.h"
#include "protocol/wire_bytes.h"
#include "protocol/wire_error.h"

namespace muster::wire {

// Who checks that a field's bytes are there: the reader at each field, or the caller, once, for all of them.
enum class Bounds : std::uint8_t { each_field, checked_before };

// Told a layout, fills its fields. After the first fault it leaves the rest as they are.
template <ByteOrder Order, Bounds Checked = Bounds::each_field>
class Reader {
public:
    explicit Reader(std::span<const std::byte> payload) : left_(payload) {}

    template <ScalarField T>
    void operator()(std::string_view, T& field) {
        typename Scalar<T>::Number number{};
        if (take(number) && !Scalar<T>::accept(number, field)) fail(WireError::bad_value);
    }

    template <TextField T>
    void operator()(std::string_view, T& text) {
        std::uint16_t size = 0;
        if (!take(size)) return;
        if (size > T::size_max) return fail(WireError::string_too_long);
        if (size > left_.size()) return fail(WireError::truncated);
        const std::string_view view(reinterpret_cast<const char*>(left_.data()), size);
        if (!is_utf8(view)) return fail(WireError::invalid_utf8);
        text = T(view);
        left_ = left_.subspan(size);
    }

    template <class Count, class T>
    void operator()(std::string_view, List<Count, T>& list) {
        Count count{};
        if (!take(count)) return;
        if (count < 0) return fail(WireError::bad_value);
        const auto size = static_cast<std::make_unsigned_t<Count>>(count);
        if (size > left_.size() / extent<T>().least) return fail(WireError::truncated);
        list.items.resize(size);
        for (T& item : list.items) {
            tell_part(item, *this);
            if (fault_) return;
        }
    }

    template <class Accepted, class Refused>
    void operator()(std::string_view name, Either<Accepted, Refused>& either) {
        bool accepted = false;
        (*this)(name, accepted);
        if (fault_) return;
        if (accepted) {
            tell_part(either.template emplace<0>(), *this);
        } else {
            tell_part(either.template emplace<1>(), *this);
        }
    }

    // The first fault so far.
    std::optional<WireError> fault() const { return fault_; }

    // The verdict once the layout was told to its end.
    std::optional<WireError> finish() const {
        if (!fault_ && !left_.empty()) return WireError::trailing_bytes;
        return fault_;
    }

private:
    template <WireNumber N>
    bool take(N& number) {
        if constexpr (Checked == Bounds::each_field) {
            if (fault_) return false;
            if (left_.size() < sizeof(N)) {
                fail(WireError::truncated);
                return false;
            }
        }
        number = get<Order, N>(left_.data());
        left_ = left_.subspan(sizeof(N));
        return true;
    }

    void fail(WireError kind) {
        if (!fault_) fault_ = kind;
    }

    std::span<const std::byte> left_;
    std::optional<WireError> fault_;
};

}  // namespace muster::wire

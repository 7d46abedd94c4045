// The half of the codec that writes: how many bytes a message takes, and the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <variant>

#include "base/check.h"
#include "protocol/field_types.h"
#include "protocol/port.h"
#include "protocol/text.h"
#include "protocol/wire_bytes.h"

namespace muster::wire {

// Told a layout, counts the bytes of this very message.
class SizeSum {
public:
    template <ScalarField T>
    void operator()(std::string_view, const T&) {
        bytes_ += sizeof(typename Scalar<T>::Number);
    }
    void operator()(std::string_view, const TextField auto& text) { bytes_ += sizeof(std::uint16_t) + text.size(); }
    template <class Count, class T>
    void operator()(std::string_view, const List<Count, T>& list) {
        bytes_ += sizeof(Count);
        for (const T& item : list.items) tell_part(item, *this);
    }
    template <class Accepted, class Refused>
    void operator()(std::string_view, const Either<Accepted, Refused>& either) {
        bytes_ += 1;
        std::visit([this](const auto& form) { tell_part(form, *this); }, either);
    }

    std::size_t bytes() const { return bytes_; }

private:
    std::size_t bytes_ = 0;
};

// Told a layout, writes it. The caller made room for SizeSum's count.
template <ByteOrder Order>
class Writer {
public:
    explicit Writer(std::byte* to) : to_(to) {}

    template <ScalarField T>
    void operator()(std::string_view, const T& field) {
        to_ = put<Order>(Scalar<T>::number(field), to_);
    }
    template <TextField T>
    void operator()(std::string_view, const T& text) {
        MUSTER_CHECK(T::fits(text.view()), "our own strings fit their fields");
        to_ = put<Order>(static_cast<std::uint16_t>(text.size()), to_);
        if (!text.empty()) std::memcpy(to_, text.view().data(), text.size());
        to_ += text.size();
    }
    template <class Count, class T>
    void operator()(std::string_view, const List<Count, T>& list) {
        MUSTER_CHECK(list.items.size() <= static_cast<std::size_t>(list.count_max), "our own lists fit their counts");
        to_ = put<Order>(static_cast<Count>(list.items.size()), to_);
        for (const T& item : list.items) tell_part(item, *this);
    }
    template <class Accepted, class Refused>
    void operator()(std::string_view, const Either<Accepted, Refused>& either) {
        if (const auto* yes = std::get_if<0>(&either)) {
            to_ = put<Order>(std::int8_t{1}, to_);
            tell_part(*yes, *this);
        } else {
            to_ = put<Order>(std::int8_t{0}, to_);
            tell_part(*std::get_if<1>(&either), *this);
        }
    }

private:
    std::byte* to_;
};

}  // namespace muster::wire

// A message's frame, field by field: the bytes that encode() makes of it, each with its meaning.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "protocol/codec.h"
#include "protocol/field_types.h"
#include "protocol/message.h"
#include "protocol/port.h"
#include "protocol/text.h"

namespace muster {

// "2A 00 00 00".
std::string hex_text(std::span<const std::byte> bytes);

namespace wire {

// Told a layout, takes each field's bytes off the front of the payload and writes a line about them.
class ExampleLines {
public:
    explicit ExampleLines(std::span<const std::byte> frame) : left_(frame) {}

    void line(std::size_t size, std::string_view meaning);

    template <ScalarField T>
    void operator()(std::string_view name, const T& field) {
        line(sizeof(typename Scalar<T>::Number), fmt::format("{} = {}", name, Scalar<T>::number(field)));
    }
    void operator()(std::string_view name, const TextField auto& text) {
        line(sizeof(std::uint16_t), fmt::format("{}: {} bytes", name, text.size()));
        if (!text.empty()) line(text.size(), fmt::format("\"{}\"", text.view()));
    }
    template <class Count, class T>
    void operator()(std::string_view name, const List<Count, T>& list) {
        line(sizeof(Count), fmt::format("{}: {} of them", name, list.items.size()));
        for (const T& item : list.items) {
            if constexpr (ScalarField<T>) {
                (*this)(name, item);
            } else {
                T::layout(item, *this);
            }
        }
    }
    template <class Accepted, class Refused>
    void operator()(std::string_view name, const Either<Accepted, Refused>& either) {
        line(1, fmt::format("{} = {}", name, either.index() == 0 ? 1 : 0));
        std::visit([this]<class Form>(const Form& form) { Form::layout(form, *this); }, either);
    }

    std::string finish();

private:
    std::span<const std::byte> left_;
    std::string lines_;
};

}  // namespace wire

template <Message M>
std::string frame_example(const M& message, ByteOrder order) {
    std::vector<std::byte> frame;
    encode(message, order, frame);
    wire::ExampleLines lines(frame);
    lines.line(sizeof(std::uint16_t), fmt::format("length = {}", frame.size() - sizeof(std::uint16_t)));
    lines.line(
        sizeof(Code),
        fmt::format("code = {}{}, {}", M::port == Port::players ? "" : "0x",
                    M::port == Port::players ? fmt::format("{}", M::code) : fmt::format("{:X}", M::code), M::name));
    M::layout(message, lines);
    return lines.finish();
}

}  // namespace muster

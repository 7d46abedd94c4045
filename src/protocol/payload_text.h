// A message's payload in words, as the specification writes it: "i32 server_id, f32 cpu".
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "protocol/field_types.h"
#include "protocol/text.h"

namespace muster {

template <class T>
std::string payload_text();

namespace wire {

// Told a layout, writes it down.
class PayloadText {
public:
    template <ScalarField T>
    void operator()(std::string_view name, const T&) {
        add(fmt::format("{} {}{}", number_name<typename Scalar<T>::Number>(), name, values<T>()));
    }
    template <TextField T>
    void operator()(std::string_view name, const T&) {
        add(fmt::format("string({}) {}", T::size_max, name));
    }
    template <class Count, class T>
    void operator()(std::string_view name, const List<Count, T>&) {
        add(fmt::format("{} n, {}: n × {}", number_name<Count>(), name, item<T>()));
    }
    template <class Accepted, class Refused>
    void operator()(std::string_view, const Either<Accepted, Refused>&) {
        add(fmt::format("i8 1, {} · or · i8 0, {}", payload_text<Accepted>(), payload_text<Refused>()));
    }

    const std::string& text() const { return text_; }

private:
    void add(std::string_view field) {
        if (!text_.empty()) text_ += ", ";
        text_ += field;
    }

    template <class T>
    static std::string item() {
        if constexpr (ScalarField<T>) {
            return std::string(number_name<typename Scalar<T>::Number>());
        } else {
            return fmt::format("({})", payload_text<T>());
        }
    }

    // What a field may be, where it may not be everything.
    template <class T>
    static std::string values() {
        if constexpr (std::same_as<T, bool>) {
            return " (1 or 0)";
        } else if constexpr (std::same_as<T, FlagSet>) {
            return " (1)";
        } else if constexpr (WireEnum<T>) {
            std::string all;
            for (int number = int{Scalar<T>::number(EnumRange<T>::first)};
                 number <= int{Scalar<T>::number(EnumRange<T>::last)}; ++number) {
                all += fmt::format("{}{} {}", all.empty() ? " (" : ", ", number, to_string(static_cast<T>(number)));
            }
            return all + ")";
        } else {
            return "";
        }
    }

    std::string text_;
};

}  // namespace wire

// Of a message, or of a struct inside one.
template <class T>
std::string payload_text() {
    wire::PayloadText words;
    const T value{};
    T::layout(value, words);
    return words.text().empty() ? "(empty)" : words.text();
}

}  // namespace muster

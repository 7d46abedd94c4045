// A message as named values, for logs and people. Secrets are masked (K-3, fault 69): what comes out here cannot be
// sent again.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <variant>

#include "base/fields.h"
#include "base/json_fields.h"
#include "protocol/field_types.h"
#include "protocol/message.h"
#include "protocol/text.h"

namespace muster {

// The double that people would write for `value`: 45.2 rather than 45.20000076293945.
double shortest_double(float value);

namespace wire {

// Told a layout, tells it to a sink.
class FieldTeller {
public:
    explicit FieldTeller(FieldSink& sink) : sink_(sink) {}

    template <ScalarField T>
    void operator()(std::string_view name, const T& field) {
        if constexpr (std::same_as<T, bool>) {
            sink_.flag(name, field);
        } else if constexpr (std::same_as<T, FlagSet>) {
            sink_.flag(name, true);
        } else if constexpr (std::same_as<T, float>) {
            sink_.real(name, shortest_double(field));
        } else if constexpr (WireEnum<T>) {
            sink_.text(name, to_string(field));
        } else {
            sink_.integer(name, Scalar<T>::number(field));
        }
    }
    template <TextField T>
    void operator()(std::string_view name, const T& text) {
        sink_.text(name, shown_text(text.view(), T::shown));
    }
    template <class Count, class T>
    void operator()(std::string_view name, const List<Count, T>& list) {
        sink_.begin_list(name);
        for (const T& item : list.items) {
            if constexpr (ScalarField<T>) {
                (*this)("", item);
            } else {
                sink_.begin_object("");
                T::layout(item, *this);
                sink_.end_object();
            }
        }
        sink_.end_list();
    }
    template <class Accepted, class Refused>
    void operator()(std::string_view name, const Either<Accepted, Refused>& either) {
        sink_.flag(name, either.index() == 0);
        std::visit([this]<class Form>(const Form& form) { Form::layout(form, *this); }, either);
    }

private:
    FieldSink& sink_;
};

}  // namespace wire

// Tells the message's fields, in the order and by the names of the wire.
template <Message M>
void describe(const M& message, FieldSink& sink) {
    wire::FieldTeller teller(sink);
    M::layout(message, teller);
}

// The same as one JSON object.
template <Message M>
std::string to_json(const M& message) {
    JsonFields json;
    describe(message, json);
    return json.finish();
}

}  // namespace muster

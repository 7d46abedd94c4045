#include "protocol/sample_frames.h"

#include <concepts>

#include "protocol/codec.h"
#include "protocol/json_view.h"
#include "protocol/message_samples.h"
#include "protocol/messages.h"

namespace muster {

namespace {

// Told a layout, notes where in the payload each field lies.
class FieldMap {
public:
    template <ScalarField T>
    void operator()(std::string_view, const T&) {
        FieldPlace place{.kind = FieldPlace::Kind::number, .number_size = sizeof(typename Scalar<T>::Number)};
        if constexpr (std::same_as<T, bool>) place.kind = FieldPlace::Kind::flag;
        if constexpr (std::same_as<T, FlagSet>) place.kind = FieldPlace::Kind::always_set;
        if constexpr (WireEnum<T>) {
            place.kind = FieldPlace::Kind::enumerated;
            place.first = Scalar<T>::number(EnumRange<T>::first);
            place.last = Scalar<T>::number(EnumRange<T>::last);
        }
        add(place, 0);
    }
    template <TextField T>
    void operator()(std::string_view, const T& text) {
        add({.kind = FieldPlace::Kind::text, .number_size = 2, .text_size = text.size(), .text_size_max = T::size_max},
            text.size());
    }
    template <class Count, class T>
    void operator()(std::string_view, const List<Count, T>& list) {
        add({.kind = FieldPlace::Kind::list, .number_size = sizeof(Count)}, 0);
        for (const T& item : list.items) tell_part(item, *this);
    }
    template <class Accepted, class Refused>
    void operator()(std::string_view, const Either<Accepted, Refused>& either) {
        add({.kind = FieldPlace::Kind::form, .number_size = 1}, 0);
        std::visit([this](const auto& form) { tell_part(form, *this); }, either);
    }

    const std::vector<FieldPlace>& places() const { return places_; }

private:
    // `behind` counts the bytes after the field's number.
    void add(FieldPlace place, std::size_t behind) {
        place.offset = at_;
        at_ += place.number_size + behind;
        places_.push_back(place);
    }

    std::vector<FieldPlace> places_;
    std::size_t at_ = 0;
};

template <Message M>
std::optional<WireError> fault_of(std::span<const std::byte> payload, ByteOrder order) {
    const auto decoded = decode<M>(payload, order);
    return decoded ? std::nullopt : std::optional(decoded.error());
}

template <Message M>
Bytes encoded_again(std::span<const std::byte> payload, ByteOrder order) {
    Bytes frame;
    if (const auto decoded = decode<M>(payload, order)) encode(*decoded, order, frame);
    return frame;
}

template <Message M>
std::string json_of(std::span<const std::byte> payload, ByteOrder order) {
    const auto decoded = decode<M>(payload, order);
    return decoded ? to_json(*decoded) : "";
}

template <Message M>
SampleFrame sample_frame(const M& message, ByteOrder order) {
    SampleFrame sample{.name = M::name, .port = M::port, .direction = M::direction, .code = M::code, .order = order};
    encode(message, order, sample.frame);
    FieldMap map;
    M::layout(message, map);
    sample.places = map.places();
    sample.encoded_size = encoded_size(message);
    sample.fault = fault_of<M>;
    sample.encoded_again = encoded_again<M>;
    sample.json = json_of<M>;
    return sample;
}

}  // namespace

const std::vector<SampleFrame>& sample_frames() {
    static const std::vector<SampleFrame> all = [] {
        std::vector<SampleFrame> samples;
        for_each_message([&]<class M>() {
            for (const M& message : message_samples<M>()) {
                for (const ByteOrder order : byte_orders) samples.push_back(sample_frame(message, order));
            }
        });
        return samples;
    }();
    return all;
}

}  // namespace muster

// Every message at its edges as bytes, for tests that go through all of them. The types are gone here, so that a test's
// checks are compiled once and not once per message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/port.h"
#include "protocol/wire_error.h"

namespace muster {

using Bytes = std::vector<std::byte>;

// Where a field lies in a payload, and what it may be.
struct FieldPlace {
    enum class Kind : std::uint8_t { number, flag, form, always_set, enumerated, text, list };

    Kind kind{};
    std::size_t offset = 0;
    std::size_t number_size = 0;  // of the number, or of the count before a text or a list
    std::int64_t first = 0;       // of an enum
    std::int64_t last = 0;        // of an enum
    std::size_t text_size = 0;
    std::size_t text_size_max = 0;
};

struct SampleFrame {
    std::string_view name;
    Port port{};
    Direction direction{};
    Code code = 0;
    ByteOrder order{};
    Bytes frame{};
    std::vector<FieldPlace> places{};
    std::size_t encoded_size = 0;  // what encoded_size() said

    // What decode() says of this message with any payload.
    std::optional<WireError> (*fault)(std::span<const std::byte> payload, ByteOrder order) = nullptr;
    // The frame of what that payload decodes to; empty when it does not.
    Bytes (*encoded_again)(std::span<const std::byte> payload, ByteOrder order) = nullptr;
    // The same as JSON.
    std::string (*json)(std::span<const std::byte> payload, ByteOrder order) = nullptr;

    std::span<const std::byte> payload() const { return std::span(frame).subspan(4); }
};

// All samples of all messages in both byte orders. Made once.
const std::vector<SampleFrame>& sample_frames();

}  // namespace muster

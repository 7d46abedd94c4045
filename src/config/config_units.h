// Durations and sizes as an operator writes them: "500ms", "10s", "64KiB".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace muster {

struct ByteSize {
    std::int64_t bytes = 0;
    friend constexpr auto operator<=>(const ByteSize&, const ByteSize&) = default;
};

constexpr ByteSize kibibytes(std::int64_t count) {
    return {count << 10};
}
constexpr ByteSize mebibytes(std::int64_t count) {
    return {count << 20};
}
constexpr ByteSize gibibytes(std::int64_t count) {
    return {count << 30};
}

// A whole number and one of ms, s, m, h, d, with nothing between. Nothing else, nothing negative, nothing that
// overflows.
std::optional<Duration> parse_duration(std::string_view text);
// In the largest unit that says it exactly, but two minutes and less in seconds. Whole milliseconds only.
std::string to_text(Duration duration);

// A whole number of bytes, or of KiB, MiB, GiB, TiB, with nothing between.
std::optional<ByteSize> parse_byte_size(std::string_view text);
// In the largest unit that says it exactly.
std::string to_text(ByteSize size);

}  // namespace muster

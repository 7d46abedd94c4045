#include "protocol/frame_example.h"

#include <algorithm>

namespace muster {

std::string hex_text(std::span<const std::byte> bytes) {
    std::string out;
    for (const std::byte byte : bytes) {
        out += fmt::format("{}{:02X}", out.empty() ? "" : " ", std::to_integer<unsigned>(byte));
    }
    return out;
}

namespace wire {

void ExampleLines::line(std::size_t size, std::string_view meaning) {
    constexpr std::size_t bytes_per_line = 16;
    MUSTER_CHECK(size <= left_.size(), "the frame has the bytes of its fields");
    auto bytes = left_.first(size);
    left_ = left_.subspan(size);
    while (!bytes.empty()) {
        const auto part = bytes.first(std::min(bytes.size(), bytes_per_line));
        bytes = bytes.subspan(part.size());
        lines_ += meaning.empty() ? fmt::format("{}\n", hex_text(part))
                                  : fmt::format("{:<{}} {}\n", hex_text(part), 3 * bytes_per_line, meaning);
        meaning = {};
    }
}

std::string ExampleLines::finish() {
    MUSTER_CHECK(left_.empty(), "the frame has the bytes of its fields and no more");
    return std::move(lines_);
}

}  // namespace wire

}  // namespace muster

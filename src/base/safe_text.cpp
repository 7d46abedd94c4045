#include "base/safe_text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include <fmt/format.h>

#include "base/utf8.h"

namespace muster {
namespace {

struct Range {
    std::uint32_t first;
    std::uint32_t last;
};

constexpr std::array unsafe{Range{0x00, 0x1F},     Range{0x7F, 0x9F},     Range{0x061C, 0x061C}, Range{0x200B, 0x200F},
                            Range{0x2028, 0x202E}, Range{0x2060, 0x2069}, Range{0xFEFF, 0xFEFF}};

}  // namespace

std::string safe_text(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const std::size_t length = utf8_sequence_length(text);
        if (length == 0) {
            fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(text[0]));
            text.remove_prefix(1);
            continue;
        }
        const std::string_view sequence = text.substr(0, length);
        const std::uint32_t point = utf8_code_point(sequence);
        if (std::ranges::any_of(unsafe, [&](Range range) { return point >= range.first && point <= range.last; })) {
            out += point < 0x100 ? fmt::format("\\x{:02x}", point) : fmt::format("\\u{:04x}", point);
        } else {
            out += sequence;
        }
        text.remove_prefix(length);
    }
    return out;
}

}  // namespace muster

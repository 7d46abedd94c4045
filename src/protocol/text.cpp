#include "protocol/text.h"

#include "base/utf8.h"

namespace muster {

namespace {

constexpr std::size_t start_size = 12;
// A shorter text would give away too large a part of itself by its start.
constexpr std::size_t start_of_least = 3 * start_size;

}  // namespace

std::string shown_text(std::string_view text, Shown shown) {
    if (text.empty() || shown == Shown::whole) return std::string(text);
    if (shown == Shown::never || text.size() < start_of_least) return "(hidden)";
    return std::string(utf8_start(text, start_size)) + "…";
}

std::string_view utf8_start(std::string_view text, std::size_t size_max) {
    if (text.size() <= size_max) return text;
    std::size_t size = 0;
    while (size < size_max) {
        const std::size_t step = utf8_sequence_length(text.substr(size));
        if (step == 0 || size + step > size_max) break;
        size += step;
    }
    return text.substr(0, size);
}

}  // namespace muster

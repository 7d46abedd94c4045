#include "cli/terminal.h"

#include <sys/ioctl.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include <fmt/format.h>
#include <unistd.h>

#include "base/utf8.h"

namespace muster {
namespace {

bool draws(int descriptor) {
    const char* kind = std::getenv("TERM");
    return isatty(descriptor) == 1 && kind && std::string_view(kind) != "dumb" && *kind != '\0';
}

struct Range {
    std::uint32_t first;
    std::uint32_t last;
};

template <std::size_t Count>
bool within(const std::array<Range, Count>& ranges, std::uint32_t point) {
    for (const Range& range : ranges)
        if (point >= range.first && point <= range.last) return true;
    return false;
}

constexpr std::array wide{Range{0x1100, 0x115F},   Range{0x2E80, 0xA4CF},  Range{0xAC00, 0xD7A3},
                          Range{0xF900, 0xFAFF},   Range{0xFE30, 0xFE6F},  Range{0xFF00, 0xFF60},
                          Range{0x1F300, 0x1FAFF}, Range{0x20000, 0x3FFFD}};
constexpr std::array combining{Range{0x0300, 0x036F}, Range{0xFE00, 0xFE0F}};

std::size_t columns_of(std::uint32_t point) {
    if (within(combining, point)) return 0;
    return within(wide, point) ? 2 : 1;
}

// Without its styles.
std::size_t styled_width(std::string_view text) {
    std::size_t width = 0;
    while (!text.empty()) {
        const std::size_t style = text.find('\x1b');
        width += shown_width(text.substr(0, style));
        const std::size_t end = text.find('m', std::min(style, text.size()));
        if (end == std::string_view::npos) break;
        text.remove_prefix(end + 1);
    }
    return width;
}

}  // namespace

bool colours_wanted() {
    const char* refused = std::getenv("NO_COLOR");
    return (!refused || *refused == '\0') && draws(STDOUT_FILENO);
}

bool progress_wanted() {
    return draws(STDERR_FILENO);
}

std::string styled(Style style, std::string_view text) {
    constexpr std::array codes{"", "1", "2", "31", "32", "33", "34", "36"};
    if (style == Style::plain || text.empty()) return std::string(text);
    return fmt::format("\x1b[{}m{}\x1b[0m", codes[static_cast<std::size_t>(style)], text);
}

std::size_t shown_width(std::string_view text) {
    std::size_t width = 0;
    while (!text.empty()) {
        const std::size_t length = utf8_sequence_length(text);
        width += length == 0 ? 1 : columns_of(utf8_code_point(text.substr(0, length)));
        text.remove_prefix(length == 0 ? 1 : length);
    }
    return width;
}

std::string_view cut_to(std::string_view text, std::size_t columns) {
    std::size_t width = 0;
    std::size_t end = 0;
    while (end < text.size()) {
        const std::size_t length = utf8_sequence_length(text.substr(end));
        width += length == 0 ? 1 : columns_of(utf8_code_point(text.substr(end, length)));
        if (width > columns) break;
        end += length == 0 ? 1 : length;
    }
    return text.substr(0, end);
}

std::string cut_marked(std::string_view text, std::size_t columns) {
    if (columns == 0 || shown_width(text) <= columns) return std::string(cut_to(text, columns));
    return std::string(cut_to(text, columns - 1)) + "…";
}

std::string cut_styled(std::string_view text, std::size_t columns) {
    const bool cut = columns > 0 && styled_width(text) > columns;
    if (cut) --columns;  // for the mark
    std::string out;
    while (!text.empty()) {
        const std::size_t style = text.find('\x1b');
        const std::string_view fits = cut_to(text.substr(0, style), columns);
        out += fits;
        columns -= shown_width(fits);
        if (style == std::string_view::npos || fits.size() < style) break;
        const std::size_t end = text.find('m', style);
        if (end == std::string_view::npos) break;
        out += text.substr(style, end - style + 1);
        text.remove_prefix(end + 1);
    }
    return out + (cut ? "\x1b[0m…" : "\x1b[0m");
}

std::vector<std::string> wrapped(std::string_view text, std::size_t columns) {
    std::vector<std::string> lines;
    std::size_t width = 0;  // of the last line
    while (!text.empty()) {
        const std::string_view word = text.substr(0, text.find(' '));
        text.remove_prefix(std::min(word.size() + 1, text.size()));
        if (word.empty()) continue;
        const std::size_t more = shown_width(word);
        if (lines.empty() || width + 1 + more > columns) {
            lines.emplace_back(word);
            width = more;
        } else {
            lines.back() += ' ';
            lines.back() += word;
            width += 1 + more;
        }
    }
    return lines;
}

TerminalSize terminal_size(int descriptor) {
    winsize size{};
    if (ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
    return {size.ws_col, size.ws_row};
}

std::size_t output_columns() {
    return isatty(STDOUT_FILENO) == 1 ? terminal_size(STDOUT_FILENO).columns : 0;
}

}  // namespace muster

// What may be shown to a person at a terminal, and how.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/safe_text.h"

namespace muster {

enum class Style : std::uint8_t { plain, bold, dim, red, green, yellow, blue, cyan };

// Standard output is a terminal that draws, and nobody asked for NO_COLOR.
bool colours_wanted();
// Standard error is a terminal that can be drawn over: progress may be shown there.
bool progress_wanted();

// `text` in that style, and back to plain after it.
std::string styled(Style style, std::string_view text);

// How many columns it takes.
std::size_t shown_width(std::string_view text);
// Its beginning, as much as fits into `columns`.
std::string_view cut_to(std::string_view text, std::size_t columns);
// The same, and where something was cut off, the last column says so: "abc…".
std::string cut_marked(std::string_view text, std::size_t columns);
// That for what styled() made of it, which takes no columns for its styles and ends plain.
std::string cut_styled(std::string_view text, std::size_t columns);

// `text` in lines of at most `columns` where its blanks allow it; no line begins or ends with a blank.
std::vector<std::string> wrapped(std::string_view text, std::size_t columns);

struct TerminalSize {
    std::size_t columns = 80;
    std::size_t rows = 24;
};
// Of the terminal behind this descriptor; the usual one where there is none.
TerminalSize terminal_size(int descriptor);
// Where text on standard output wraps; 0 where it is not a terminal: whoever reads it there wants whole lines.
std::size_t output_columns();

}  // namespace muster

// Which bytes are UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace muster {

// Bytes of the first character of `text`, or 0 when it does not start with a whole valid one.
std::size_t utf8_sequence_length(std::string_view text);

// The character that such a sequence stands for.
std::uint32_t utf8_code_point(std::string_view sequence);

bool is_utf8(std::string_view text);

}  // namespace muster

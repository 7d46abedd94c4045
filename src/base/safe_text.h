// Text of others, made fit to show.
#pragma once

#include <string>
#include <string_view>

namespace muster {

// Control characters (C0, C1, DEL), line and paragraph separators, marks that turn the direction of text or hide, and
// bytes that are not UTF-8 become visible, such as \x1b or \u202e: a name can neither drive a terminal, nor fake a
// line, nor look like another.
std::string safe_text(std::string_view text);

}  // namespace muster

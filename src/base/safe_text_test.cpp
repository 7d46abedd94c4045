#include "base/safe_text.h"

#include <string>

#include <doctest/doctest.h>

using namespace muster;

TEST_CASE(
    "fault 45: text of others shows its controls, its separators and its direction marks, and stays as it is else") {
    CHECK(safe_text("").empty());
    CHECK(safe_text("Björn 日本 🎮 <b>") == "Björn 日本 🎮 <b>");
    CHECK(safe_text("a\x1b[31m\r\n\x7f") == R"(a\x1b[31m\x0d\x0a\x7f)");
    CHECK(safe_text("\u0080\u009b\u009f\u00a0") == "\\x80\\x9b\\x9f\u00a0");  // C1, of which U+009B drives terminals
    CHECK(safe_text("\u2028\u2029") == R"(\u2028\u2029)");                    // line and paragraph
    CHECK(safe_text("\u061c\u200e\u200f") == R"(\u061c\u200e\u200f)");        // marks of direction
    CHECK(safe_text("\u202a\u202b\u202c\u202d\u202e") == R"(\u202a\u202b\u202c\u202d\u202e)");
    CHECK(safe_text("\u2066\u2067\u2068\u2069") == R"(\u2066\u2067\u2068\u2069)");
    CHECK(safe_text("\u200b\u2060\ufeff") == R"(\u200b\u2060\ufeff)");  // what hides
    CHECK(safe_text("a\xff\xc2") == R"(a\xff\xc2)");                    // no UTF-8
}

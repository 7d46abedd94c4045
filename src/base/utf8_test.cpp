#include "base/utf8.h"

#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using muster::is_utf8;

namespace {

// What the Unicode standard's definition says, spelled out by decoding and encoding again.
std::string encoded(char32_t point) {
    const auto byte = [](char32_t bits) { return static_cast<char>(static_cast<unsigned char>(bits)); };
    if (point < 0x80) return {byte(point)};
    if (point < 0x800) return {byte(0xC0 | (point >> 6)), byte(0x80 | (point & 0x3F))};
    if (point < 0x10000) {
        return {byte(0xE0 | (point >> 12)), byte(0x80 | ((point >> 6) & 0x3F)), byte(0x80 | (point & 0x3F))};
    }
    return {byte(0xF0 | (point >> 18)), byte(0x80 | ((point >> 12) & 0x3F)), byte(0x80 | ((point >> 6) & 0x3F)),
            byte(0x80 | (point & 0x3F))};
}

}  // namespace

TEST_CASE("fault 45: every code point but the surrogates is UTF-8, whole and never in part") {
    for (char32_t point = 0; point <= 0x10FFFF; ++point) {
        const std::string bytes = encoded(point);
        const bool surrogate = point >= 0xD800 && point <= 0xDFFF;
        if (is_utf8(bytes) == surrogate) FAIL("U+" << static_cast<unsigned>(point));
        if (bytes.size() > 1 && is_utf8(bytes.substr(0, bytes.size() - 1)))
            FAIL("part of U+" << static_cast<unsigned>(point));
    }
}

TEST_CASE("fault 45: overlong forms, stray continuations and what lies past U+10FFFF are refused") {
    for (const char* bytes : {"\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80",
                              "\xF5\x80\x80\x80", "\x80", "\xFF", "abcdefgh\xC3", "\xC3(abcdefgh"}) {
        CHECK_FALSE(is_utf8(bytes));
    }
    CHECK(is_utf8(""));
    CHECK(is_utf8("abcdefghijklmnop \xE2\x82\xAC abcdefgh"));
}

#include "config/config_units.h"

#include <doctest/doctest.h>

using namespace muster;
using namespace std::chrono_literals;

TEST_CASE("X-1: durations are whole numbers of ms, s, m, h or d") {
    CHECK(parse_duration("500ms") == Duration(500ms));
    CHECK(parse_duration("10s") == Duration(10s));
    CHECK(parse_duration("5m") == Duration(5min));
    CHECK(parse_duration("2h") == Duration(2h));
    CHECK(parse_duration("7d") == Duration(7 * 24h));
    CHECK(parse_duration("0s") == Duration(0));
    CHECK(parse_duration("007s") == Duration(7s));
    for (const char* bad :
         {"", "s", "10", "10 s", " 10s", "10s ", "-1s", "+1s", "1.5s", "1m30s", "10S", "10us", "0x1s", "1e3s"})
        CHECK_FALSE_MESSAGE(parse_duration(bad), bad);
}

TEST_CASE("X-1: the longest duration that fits is read, one more is refused and not wrapped") {
    CHECK(parse_duration("9223372036854ms") == Duration(9'223'372'036'854ms));
    CHECK_FALSE(parse_duration("9223372036855ms"));
    CHECK(parse_duration("106751d") == Duration(106'751 * 24h));
    CHECK_FALSE(parse_duration("106752d"));
    CHECK_FALSE(parse_duration("9223372036854775807d"));
    CHECK_FALSE(parse_duration("99999999999999999999999999999s"));
}

TEST_CASE("X-1: sizes are bytes or whole KiB, MiB, GiB, TiB") {
    CHECK(parse_byte_size("8192") == ByteSize{8'192});
    CHECK(parse_byte_size("64KiB") == kibibytes(64));
    CHECK(parse_byte_size("1MiB") == mebibytes(1));
    CHECK(parse_byte_size("1GiB") == gibibytes(1));
    CHECK(parse_byte_size("2TiB") == gibibytes(2'048));
    CHECK(parse_byte_size("9223372036854775807") == ByteSize{9'223'372'036'854'775'807});
    for (const char* bad :
         {"", "KiB", "64kib", "64KB", "64 KiB", "-1", "1.5MiB", "9223372036854775808", "9007199254740992KiB"})
        CHECK_FALSE_MESSAGE(parse_byte_size(bad), bad);
}

TEST_CASE("a duration or size is told in the largest unit that says it exactly, two minutes and less in seconds") {
    CHECK(to_text(Duration(500ms)) == "500ms");
    CHECK(to_text(Duration(1500ms)) == "1500ms");
    CHECK(to_text(Duration(0s)) == "0s");
    CHECK(to_text(Duration(90s)) == "90s");
    CHECK(to_text(Duration(120s)) == "120s");
    CHECK(to_text(Duration(121s)) == "121s");
    CHECK(to_text(Duration(180s)) == "3m");
    CHECK(to_text(Duration(2h)) == "2h");
    CHECK(to_text(Duration(7 * 24h)) == "7d");
    CHECK(to_text(ByteSize{0}) == "0");
    CHECK(to_text(ByteSize{1'025}) == "1025");
    CHECK(to_text(kibibytes(256)) == "256KiB");
    CHECK(to_text(mebibytes(1'024)) == "1GiB");
}

#include "base/request_id.h"

#include <doctest/doctest.h>

using namespace muster;

TEST_CASE("S-4: a request's id is short visible ASCII, and nothing that could fake a line of the log") {
    for (const char* good : {"a", "7f3c-12", "order:42/eu", "550e8400-e29b-41d4-a716-446655440000"})
        CHECK_MESSAGE(is_request_id(good), good);
    for (const char* bad : {"", "two words", "line\nbreak", "quote\"", "back\\slash", "\x7f", "caf\xc3\xa9"})
        CHECK_MESSAGE(!is_request_id(bad), bad);
    CHECK(is_request_id(std::string(64, 'x')));
    CHECK_FALSE(is_request_id(std::string(65, 'x')));
}

TEST_CASE("ids that are made differ by time and by number, and are valid") {
    CHECK(make_request_id(UnixMs{1'000}, 1) != make_request_id(UnixMs{1'000}, 2));
    CHECK(make_request_id(UnixMs{1'000}, 1) != make_request_id(UnixMs{1'001}, 1));
    CHECK(is_request_id(make_request_id(UnixMs{1'763'000'000'000}, 123'456)));
}

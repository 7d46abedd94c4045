#include "http/json_body.h"

#include <doctest/doctest.h>

using namespace muster;

TEST_CASE("O-2: an action's body gives its fields, and those left out may be") {
    JsonBody body(R"({"draining": true, "lobby_id": 42, "reason": "late"})");
    CHECK(body.flag("draining"));
    CHECK(body.integer("lobby_id", 1, 100) == 42);
    CHECK(body.optional_text("reason", 10) == "late");
    CHECK_FALSE(body.optional_integer("speed", 1, 10));
    CHECK(body.optional_text("note", 10).empty());
    CHECK_FALSE(body.error());
    JsonBody nothing(" \n");
    CHECK(nothing.optional_text("reason", 10).empty());
    CHECK_FALSE(nothing.error());
}

TEST_CASE("O-2: a body is refused with what is wrong in it") {
    const auto flag_error = [](std::string_view text) {
        JsonBody body(text);
        (void)body.flag("draining");
        return body.error().value_or("none");
    };
    CHECK(flag_error(R"({"draining": 1})") == "draining must be true or false");
    CHECK(flag_error(R"({"draining": "true"})") == "draining must be true or false");
    CHECK(flag_error("{}") == "draining must be true or false");
    CHECK(flag_error("[true]") == "The body must be a JSON object");
    CHECK(flag_error("{\"draining\": tru}") == "The body is not valid JSON");
    CHECK(flag_error(R"({"draining": true} x)") == "The body is not valid JSON");
    CHECK(flag_error(R"({"draining": true, "forced": true})") == "Unknown field forced; known are: draining");
    CHECK(flag_error("{\"draining\":" + std::string(100, '[') + std::string(100, ']') + "}") ==
          "The body is not valid JSON");

    JsonBody body(R"({"speed": 3601, "hour": 1.5, "reason": "0123456789a"})");
    (void)body.optional_integer("speed", 1, 3600);
    CHECK(body.error() == "speed must be a whole number from 1 to 3600");
    JsonBody fraction(R"({"hour": 1.5})");
    (void)fraction.integer("hour", 0, 23);
    CHECK(fraction.error() == "hour must be a whole number from 0 to 23");
    JsonBody missing("{}");
    (void)missing.integer("hour", 0, 23);
    CHECK(missing.error() == "hour is missing; it must be a whole number from 0 to 23");
    JsonBody text(R"({"reason": "0123456789a"})");
    (void)text.optional_text("reason", 10);
    CHECK(text.error() == "reason must be a text of at most 10 bytes");
    JsonBody huge(R"({"lobby_id": 99999999999999999999})");
    (void)huge.integer("lobby_id", 1, 100);
    CHECK(huge.error() == "lobby_id must be a whole number from 1 to 100");
}

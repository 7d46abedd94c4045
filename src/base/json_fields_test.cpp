#include "base/json_fields.h"

#include <limits>

#include <doctest/doctest.h>

using namespace muster;

TEST_CASE("W-4: fields become JSON in the order they are told") {
    JsonFields json;
    json.integer("id", -7);
    json.text("name", "eu-1");
    json.begin_list("regions");
    json.integer("", 0);
    json.begin_object("");
    json.flag("full", true);
    json.end_object();
    json.end_list();
    json.real("cpu", 12.5);
    CHECK(json.finish() == R"({"id":-7,"name":"eu-1","regions":[0,{"full":true}],"cpu":12.5})");
    CHECK(json.finish() == "{}");
}

TEST_CASE("fault 44: NaN and infinity, which JSON does not know, become null") {
    JsonFields json;
    json.real("nan", std::numeric_limits<double>::quiet_NaN());
    json.real("inf", std::numeric_limits<double>::infinity());
    CHECK(json.finish() == R"({"nan":null,"inf":null})");
}

TEST_CASE("fault 45: text from outside is escaped in JSON") {
    CHECK(json_quoted("<b>\"&\\") == "\"\\u003cb\\u003e\\\"\\u0026\\\\\"");
    CHECK(json_quoted(std::string_view("\0\x1b[31m\n\x7f", 8)) == "\"\\u0000\\u001b[31m\\n\\u007f\"");
    CHECK(json_quoted("\xC2\x9B") == "\"\\u009b\"");                        // a C1 control that terminals obey
    CHECK(json_quoted("a\xFFz\xC0\x80") == "\"a\\ufffdz\\ufffd\\ufffd\"");  // not UTF-8, and overlong
    CHECK(json_quoted("Zo\xC3\xAB \xF0\x9F\x8E\xAE") == "\"Zo\xC3\xAB \xF0\x9F\x8E\xAE\"");
}

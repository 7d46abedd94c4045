#include "cli/figures.h"

#include <doctest/doctest.h>

using namespace muster;

TEST_CASE("G-8: a load of 0 is shown as 0, and only one that nobody has measured as unknown") {
    const auto load = [](std::string_view text) {
        const auto row = JsonValue::parse(text);
        REQUIRE(row);
        return load_text((*row)["cpu"], (*row)["memory"]);
    };
    CHECK(load(R"({"cpu":0,"memory":12.4})").cpu == "0 %");
    CHECK(load(R"({"cpu":0,"memory":12.4})").memory == "12 %");
    CHECK(load(R"({"cpu":37,"memory":0})").memory == "0 %");
    CHECK(load(R"({"cpu":0,"memory":0})").cpu == "-");
    CHECK(load(R"({"cpu":0,"memory":0})").memory == "-");
}

#include "cli/host_name.h"

#include <doctest/doctest.h>

#include "cli/command.h"

using namespace muster;

TEST_CASE("G-12: a process is named by its host and its name") {
    const auto place = parse_place("eu-1/arena-1");
    REQUIRE(place);
    CHECK(place->host == "eu-1");
    CHECK(place->name == "arena-1");
    for (const char* bad : {"", "/", "eu-1", "eu-1/", "/arena-1", "a/b/c"}) {
        CAPTURE(bad);
        CHECK_FALSE(parse_place(bad));
        CHECK_THROWS_AS(place_on_host(bad, "PROCESS"), CommandFailure);
    }
    CHECK_THROWS_WITH(static_cast<void>(place_on_host("nope", "PROCESS")),
                      "nope is not HOST/PROCESS, such as eu-1/arena-3; `muster hosts` lists hosts, `muster host HOST` "
                      "what one runs");
    CHECK_THROWS_WITH(static_cast<void>(place_on_host("nope", "RUN")),
                      "nope is not HOST/RUN, such as eu-1/arena; `muster hosts` lists hosts, `muster host HOST` what "
                      "one runs");
}

TEST_CASE("G-12: what is not there is told with a command that works") {
    const PlaceOnHost place{"eu-1", "arena"};
    CHECK(not_there_text(place, "No such host") == "no host eu-1; `muster hosts` lists them");
    CHECK(not_there_text(place, "No such run on this host") ==
          "No such run on this host; `muster host eu-1` shows what it runs");
}

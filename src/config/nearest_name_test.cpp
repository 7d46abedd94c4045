#include "config/nearest_name.h"

#include <vector>

#include <doctest/doctest.h>

using namespace muster;

TEST_CASE("edits are counted: added, dropped, changed, swapped with the neighbour") {
    CHECK(edit_distance("", "") == 0);
    CHECK(edit_distance("", "abc") == 3);
    CHECK(edit_distance("serve", "serve") == 0);
    CHECK(edit_distance("serv", "serve") == 1);
    CHECK(edit_distance("serrve", "serve") == 1);
    CHECK(edit_distance("sarve", "serve") == 1);
    CHECK(edit_distance("sevre", "serve") == 1);
    CHECK(edit_distance("kitten", "sitting") == 3);
    CHECK(edit_distance("abc", "xyz") == 3);
}

TEST_CASE("X-1: a mistyped name finds the nearest known one, and nonsense finds none") {
    const std::vector<std::string> known = {"heartbeat_interval", "heartbeat_timeout", "token_ttl", "id"};
    CHECK(nearest_name("heartbeat_timout", known) == "heartbeat_timeout");
    CHECK(nearest_name("hearbeat_intervall", known) == "heartbeat_interval");
    CHECK(nearest_name("tokenttl", known) == "token_ttl");
    CHECK(nearest_name("idd", known) == "id");
    CHECK(nearest_name("", known) == std::nullopt);
    CHECK(nearest_name("xy", known) == std::nullopt);
    CHECK(nearest_name("banana", known) == std::nullopt);
    CHECK(nearest_name(std::string(100'000, 'h'), known) == std::nullopt);
}

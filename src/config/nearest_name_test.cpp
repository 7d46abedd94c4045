#include "config/nearest_name.h"

#include <vector>

#include <doctest/doctest.h>

using namespace muster;

TEST_CASE("edits are counted: added, dropped, changed, swapped with the neighbour") {
    CHECK(edit_distance("", "", 9) == 0);
    CHECK(edit_distance("", "abc", 9) == 3);
    CHECK(edit_distance("serve", "serve", 9) == 0);
    CHECK(edit_distance("serv", "serve", 9) == 1);
    CHECK(edit_distance("serrve", "serve", 9) == 1);
    CHECK(edit_distance("sarve", "serve", 9) == 1);
    CHECK(edit_distance("sevre", "serve", 9) == 1);
    CHECK(edit_distance("kitten", "sitting", 9) == 3);
    CHECK(edit_distance("abc", "xyz", 9) == 3);
}

TEST_CASE("edits are counted exactly up to the most that is asked for, and one more stands for all above") {
    const std::vector<std::string> texts = {"",     "a",      "ba",     "ab",      "abc",     "cab",
                                            "bdca", "kitten", "tikten", "sitting", "sttiing", "heartbeat_interval"};
    for (const std::string& one : texts) {
        for (const std::string& other : texts) {
            const std::size_t all = edit_distance(one, other, 99);
            CHECK(all == edit_distance(other, one, 99));
            for (std::size_t most = 0; most < 20; ++most)
                CHECK(edit_distance(one, other, most) == (all <= most ? all : most + 1));
        }
    }
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
    CHECK(nearest_name("hearbeat_timout", known, 2) == "heartbeat_timeout");
    CHECK(nearest_name("hearbeat_timout", known, 1) == std::nullopt);
    CHECK(nearest_name("id", known, 0) == "id");
    CHECK(nearest_name(std::string(100'000, 'h'), known) == std::nullopt);
}

#include "sdk/src/c_interface_test.h"

#include <doctest/doctest.h>

#include "sdk/src/fake_muster.h"

namespace muster::sdk {

TEST_CASE("A-14: the C interface names every error") {
    CHECK(c_names_errors() == 0);
}

TEST_CASE("F-1: the C interface refuses bad options and says which") {
    CHECK(c_refuses_bad_options() == 0);
}

TEST_CASE("F-10: a C program drives a game server through a loop of its own, and reads the clock") {
    CHECK(c_drives_a_client_itself() == 0);
}

TEST_CASE("A-14: a C program plays a whole match over TCP") {
    FakeMuster muster;
    CHECK(c_plays_a_match(muster.servers_address().c_str(), muster.matchmakers_address().c_str()) == 0);
}

TEST_CASE("P-11: the C interface refuses bad options of a player and says which") {
    CHECK(c_refuses_bad_player_options() == 0);
}

TEST_CASE("P-11: a C program drives a player through a loop of its own: pings, heartbeats, clocks, matches, closes") {
    CHECK(c_drives_a_player_itself() == 0);
}

TEST_CASE("O-4: the C interface has the names of days, the night, and frames as milliseconds") {
    CHECK(c_knows_the_worlds_time() == 0);
}

TEST_CASE("SDK: the C interface refuses NULL for handles, options, lists and functions, and changes nothing") {
    CHECK(c_refuses_null() == 0);
}

TEST_CASE("SDK: the C interface refuses options whose size was not filled in, rather than ignore callbacks") {
    CHECK(c_refuses_short_options() == 0);
}

TEST_CASE("SDK: times at both ends of their range overflow nothing in the C interface") {
    CHECK(c_survives_huge_times() == 0);
}

TEST_CASE("SDK: a C runner that is started twice, or run from a callback, says so and does not hang") {
    CHECK(c_refuses_to_run_twice() == 0);
}

TEST_CASE("SDK: a C program may free a client while its runner runs, and a runner before its client") {
    FakeMuster muster;
    CHECK(c_frees_in_any_order(muster.servers_address().c_str()) == 0);
}

TEST_CASE("P-1: a C program logs a player in and out over TCP") {
    FakeMuster muster;
    CHECK(c_logs_a_player_in(muster.players_address().c_str()) == 0);
}

}  // namespace muster::sdk

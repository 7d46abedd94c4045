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
    CHECK(c_plays_a_match(muster.servers_address().c_str(), muster.managers_address().c_str()) == 0);
}

}  // namespace muster::sdk

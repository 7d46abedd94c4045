#include "cluster/node_life.h"

#include <doctest/doctest.h>

using namespace muster;

TEST_CASE("N-3: a node that stands by says once who owns the cell, and again when that changes") {
    NodeLife life("one", "main");
    CHECK_FALSE(life.owns());
    CHECK(life.looked({false, "two", ""}) == "Standing by; owner is two");
    CHECK(life.standing() == "standing by; owner is two");
    CHECK_FALSE(life.looked({false, "two", ""}));
    CHECK(life.looked({false, "three", ""}) == "Standing by; owner is three");
    CHECK(life.looked({false, "", ""}) == "Standing by; owner is nobody");
    CHECK_FALSE(life.owns());
}

TEST_CASE("N-9: a node that stands by says why nobody knows the owner") {
    NodeLife life("one", "main");
    CHECK(life.looked({false, "", "connection refused"}) ==
          "Standing by; the database does not answer: connection refused");
    CHECK(life.looked({false, "two", ""}) == "Standing by; owner is two");
}

TEST_CASE("N-3: taking a cell over from another node is told apart from beginning, and from starting again") {
    NodeLife fresh("one", "main");
    CHECK(fresh.looked({true, "", ""}) == "Owns cell main, which nobody had");
    CHECK(fresh.owns());
    CHECK_FALSE(fresh.took_over());
    NodeLife again("one", "main");
    again.looked({true, "one", ""});
    CHECK_FALSE(again.took_over());
    NodeLife heir("one", "main");
    CHECK(heir.looked({true, "two", ""}) == "Took cell main over from two");
    CHECK(heir.took_over());
}

TEST_CASE("N-12: a cell is handed back once a minute at most") {
    using namespace std::chrono_literals;
    CHECK_FALSE(may_hand_back(59'999ms));
    CHECK(may_hand_back(60s));
}

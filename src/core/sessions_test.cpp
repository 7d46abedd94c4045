#include "core/sessions.h"

#include <string>

#include <doctest/doctest.h>

using namespace muster;

TEST_CASE("P-1: a session is found by its account and by its name, until it is removed") {
    Sessions sessions;
    const auto anna = sessions.add("Anna", AccountId(7));
    const auto ben = sessions.add("Ben", AccountId(8));
    CHECK(sessions.find(AccountId(7)) == anna);
    CHECK(sessions.find("Ben") == ben);
    CHECK(sessions.find("anna") == Sessions::none);
    CHECK(sessions.name(anna) == "Anna");
    sessions.remove(anna);
    CHECK(sessions.find(AccountId(7)) == Sessions::none);
    CHECK(sessions.find("Anna") == Sessions::none);
    CHECK(sessions.size() == 1);
}

TEST_CASE("P-6: a place that is free is used again, and nothing of its last session is left in it") {
    Sessions sessions;
    const auto first = sessions.add("Anna", AccountId(7));
    sessions.at(first).pings_out = 3;
    sessions.details(first).resume_token.fill(std::byte{1});
    sessions.remove(first);
    const auto second = sessions.add("Bo", AccountId(9));
    CHECK(second == first);
    CHECK(sessions.name(second) == "Bo");
    CHECK(sessions.at(second).pings_out == 0);
    CHECK(sessions.details(second).resume_token == SessionDetails{}.resume_token);
    CHECK(sessions.places() == 1);
}

TEST_CASE("P-1: sessions stay where they are while thousands come") {
    Sessions sessions;
    const auto first = sessions.add("0", AccountId(1));
    const Session* there = &sessions.at(first);
    for (int i = 1; i < 5'000; ++i) (void)sessions.add(std::to_string(i), AccountId(i + 1));
    CHECK(&sessions.at(first) == there);
    for (int i = 0; i < 5'000; ++i) CHECK(sessions.find(std::to_string(i)) == sessions.find(AccountId(i + 1)));
}

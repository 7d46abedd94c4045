#include "core/matchmaker_shares.h"

#include <doctest/doctest.h>

using namespace muster;

namespace {

constexpr std::size_t most = 1'700;

// Asks for all it can get.
std::size_t fill(MatchmakerShares& requests, const std::string& matchmaker) {
    std::size_t begun = 0;
    for (; requests.has_room(matchmaker, most); ++begun) requests.begin(matchmaker);
    return begun;
}

}  // namespace

TEST_CASE("A-2: one matchmaker cannot take all room for requests, and whoever comes next finds some") {
    MatchmakerShares requests(8);
    CHECK(fill(requests, "greedy") == 1'512);  // eight ninths
    CHECK_FALSE(requests.has_room("greedy", most));
    CHECK(requests.has_room("modest", most));
    CHECK(fill(requests, "modest") == 168);
    CHECK(fill(requests, "third") == 18);
    CHECK(requests.has_room("fourth", most));
    CHECK(requests.count() == 1'698);
}

TEST_CASE("A-2: matchmakers that ask for all they can get have equal shares of the room") {
    MatchmakerShares requests(8);
    while (requests.has_room("one", most) || requests.has_room("other", most)) {
        for (const char* matchmaker : {"one", "other"})
            if (requests.has_room(matchmaker, most)) requests.begin(matchmaker);
    }
    CHECK(requests.count_of("one") == 800);
    CHECK(requests.count_of("other") == 800);
}

TEST_CASE("A-2: a request that ends makes room, and beyond the last place there is none for anybody") {
    MatchmakerShares requests(8);
    CHECK(requests.has_room("a", 1));
    requests.begin("a");
    CHECK_FALSE(requests.has_room("a", 1));
    CHECK_FALSE(requests.has_room("b", 1));
    CHECK_FALSE(requests.has_room("b", 0));  // as after a reload with a smaller limit
    requests.end("a");
    CHECK(requests.count() == 0);
    CHECK(requests.count_of("a") == 0);
    CHECK(requests.has_room("b", 1));
}

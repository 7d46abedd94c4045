#include "postgres/name_claim.h"

#include <doctest/doctest.h>

using namespace muster;
using namespace std::chrono_literals;
using Verdict = NameClaim::Verdict;

namespace {

NodeRow beating(std::int64_t beat) {
    NodeRow row;
    row.name = "one";
    row.beat = beat;
    return row;
}

}  // namespace

TEST_CASE("N-1, fault 86: a name is free when nobody has it, or who had it has left or ended") {
    CHECK(NameClaim().seen(Time{1h}, std::nullopt, false) == Verdict::free);
    CHECK(NameClaim().seen(Time{1h}, beating(5), true) == Verdict::free);
    NodeRow left = beating(5);
    left.has_left = true;
    CHECK(NameClaim().seen(Time{1h}, left, false) == Verdict::free);
}

TEST_CASE("N-1, fault 86: a name whose node beats is taken, and without a beat for three seconds it is free") {
    NameClaim claim;
    CHECK(claim.seen(Time{1h}, beating(5), false) == Verdict::unknown);
    CHECK(claim.seen(Time{1h + 1s}, beating(5), false) == Verdict::unknown);
    SUBCASE("it beats") {
        CHECK(claim.seen(Time{1h + 2s}, beating(6), false) == Verdict::taken);
    }
    SUBCASE("it does not") {
        CHECK(claim.seen(Time{1h + 2999ms}, beating(5), false) == Verdict::unknown);
        CHECK(claim.seen(Time{1h + 3s}, beating(5), false) == Verdict::free);
    }
}

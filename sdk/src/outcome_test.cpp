#include "muster/outcome.h"

#include <set>
#include <string_view>

#include <doctest/doctest.h>

#include "sdk/src/refusals.h"

namespace muster::sdk {

TEST_CASE("A-14: every refusal of the protocol has a code of its own, found by its text") {
    std::set<std::string_view> names;
    for (int i = 0; i <= static_cast<int>(last_refusal); ++i) {
        const auto refusal = static_cast<Refusal>(i);
        const Outcome outcome = refused(text(refusal));
        CHECK(outcome.code == code_of(refusal));
        CHECK(outcome.text == text(refusal));
        CHECK(to_string(outcome.code) == label(refusal));
        names.insert(to_string(outcome.code));
    }
    CHECK(names.size() == static_cast<std::size_t>(last_refusal) + 1);
    // Spot checks against names written out by hand, so that a shifted table cannot pass.
    CHECK(refused("Server busy").code == ErrorCode::server_busy);
    CHECK(refused("Match not found").code == ErrorCode::match_not_found);
    CHECK(refused("Match token already used").code == ErrorCode::match_token_already_used);
    CHECK(to_string(ErrorCode::no_servers_available) == "no_servers_available");
}

TEST_CASE("A-14: words that are not known are passed on with a code that says so") {
    const Outcome outcome = refused("Come back on Sunday");
    CHECK(outcome.code == ErrorCode::refused_unknown_text);
    CHECK(outcome.text == "Come back on Sunday");
    CHECK_FALSE(outcome);
    CHECK(Outcome{});
    CHECK(to_string(static_cast<ErrorCode>(60'000)) == "unknown");
}

TEST_CASE("A-14: the SDK's own codes have names") {
    for (int number = 0; number <= static_cast<int>(ErrorCode::tls_failed); ++number) {
        CHECK(to_string(static_cast<ErrorCode>(number)) != "unknown");
    }
}

}  // namespace muster::sdk

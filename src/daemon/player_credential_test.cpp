#include "daemon/player_credential.h"

#include <doctest/doctest.h>

namespace muster {
namespace {

constexpr UnixMs now{1'705'123'456'000};
constexpr std::int64_t later = 1'705'123'457;

struct CredentialFixture {
    Secret key{"a key of players"};

    std::string refusal(std::string_view name, std::string_view credential, UnixMs at = now) const {
        const auto judged = judge_player_credential(key, name, credential, at);
        return judged ? "" : std::string(text(judged.error()));
    }
};

TEST_CASE_FIXTURE(CredentialFixture, "P-1: a credential is the text that SPEC says, byte for byte") {
    // Made with: printf 'v1.Wm_Dqw.7.1705123457' | openssl dgst -sha256 -hmac 'a key of players' -binary | basenc
    // --base64url
    CHECK(make_player_credential(key, "Zoë", AccountId(7), later) ==
          "v1.Wm_Dqw.7.1705123457.is-6P-U9AV0elcgkBWUbyCMyDpjwJBCguWh-AlonIak");
}

TEST_CASE_FIXTURE(CredentialFixture, "P-1: a good credential gives its account until it expires") {
    const std::string good = make_player_credential(key, "Zoë", AccountId(7), later);
    CHECK(judge_player_credential(key, "Zoë", good, now) == AccountId(7));
    CHECK(refusal("Zoë", good, UnixMs{later * 1'000 - 1}) == "");
    CHECK(refusal("Zoë", good, UnixMs{later * 1'000}) == "Credential expired");
    CHECK(refusal("Zoe", good) == "Invalid name");
    CHECK(refusal("Zoe", good, UnixMs{later * 1'000}) == "Credential expired");
}

TEST_CASE_FIXTURE(CredentialFixture, "P-1: whatever is changed, cut or added makes it invalid") {
    const std::string good = make_player_credential(key, "ann", AccountId(7), later);
    for (std::size_t i = 0; i < good.size(); ++i) {
        std::string changed = good;
        changed[i] = changed[i] == 'A' ? 'B' : 'A';
        CHECK(refusal("ann", changed) == "Invalid credential");
        CHECK(refusal("ann", good.substr(0, i)) == "Invalid credential");
    }
    CHECK(refusal("ann", good + "=") == "Invalid credential");
    CHECK(refusal("ann", good + ".") == "Invalid credential");
    CHECK(refusal("ann", " " + good) == "Invalid credential");
    CHECK(refusal("ann", "") == "Invalid credential");
    CHECK(refusal("ann", ".") == "Invalid credential");
    const auto other = judge_player_credential(Secret("another key"), "ann", good, now);
    CHECK(other.error() == Refusal::invalid_credential);
}

TEST_CASE_FIXTURE(CredentialFixture, "S-4: a credential signed with any of the keys is good") {
    const Secrets both(std::vector{Secret("another key"), key});
    CHECK(judge_player_credential(both, "ann", make_player_credential(key, "ann", AccountId(7), later), now) ==
          AccountId(7));
    CHECK(judge_player_credential(both, "ann", make_player_credential(both.first(), "ann", AccountId(7), later), now) ==
          AccountId(7));
    const std::string other = make_player_credential(Secret("a third key"), "ann", AccountId(7), later);
    CHECK(judge_player_credential(both, "ann", other, now).error() == Refusal::invalid_credential);
}

TEST_CASE_FIXTURE(CredentialFixture, "P-1, fault 43: account ids that are none are invalid, also well signed") {
    for (const std::int32_t account : {0, -1, -2'147'483'647}) {
        CHECK(refusal("ann", make_player_credential(key, "ann", AccountId(account), later)) == "Invalid credential");
    }
    CHECK(refusal("ann", make_player_credential(key, "ann", AccountId(2'147'483'647), later)) == "");
    CHECK(refusal("ann", make_player_credential(key, "ann", AccountId(1), -1)) == "Credential expired");
}

}  // namespace
}  // namespace muster

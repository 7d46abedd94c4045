// Player credentials: what is let in is, byte for byte, what one of the keys has signed for that name.
//
// An input is a name, an account, an expiry and the time of the login, then edits of the credential that they make, or
// a credential of its own.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "config/secrets.h"
#include "daemon/player_credential.h"
#include "fuzz/credential_keys.h"
#include "fuzz/fuzz_input.h"
#include "fuzz/fuzz_target.h"

namespace muster::fuzz {
namespace {

struct Signed {
    std::string name;
    std::int32_t account = 0;
    std::int64_t expires = 0;
    std::string credential;
};

Signed sign(FuzzInput& input) {
    Signed made;
    made.name = input.text();
    made.account = input.number<std::int32_t>();
    made.expires = input.number<std::int64_t>();
    const Secret& key = credential_keys().all()[input.below(2)];
    made.credential = make_player_credential(key, made.name, AccountId(made.account), made.expires);
    return made;
}

// Whether one of the keys has signed exactly this, as what it says of itself.
bool is_ours(std::string_view name, std::string_view credential, AccountId account) {
    const std::size_t signature = credential.rfind('.');
    const std::string_view text = credential.substr(0, signature);
    const std::int64_t expires = std::stoll(std::string(text.substr(text.rfind('.') + 1)));
    for (const Secret& key : credential_keys().all())
        if (make_player_credential(key, name, account, expires) == credential) return true;
    return false;
}

void judge(FuzzInput& input) {
    const bool signs = input.flag();
    const UnixMs now{input.number<std::int64_t>()};
    if (!signs) {
        const std::string name(input.text());
        const std::string_view credential = input.rest();
        const auto verdict = judge_player_credential(credential_keys(), name, credential, now);
        if (verdict) MUSTER_CHECK(is_ours(name, credential, *verdict), "only what we signed lets anybody in");
        return;
    }

    const Signed made = sign(input);
    const std::string credential = edited(made.credential, input);
    const std::string name = edited(made.name, input);
    const bool unchanged = credential == made.credential && name == made.name;
    const auto verdict = judge_player_credential(credential_keys(), name, credential, now);
    const bool in_time = now.value / 1'000 < made.expires;
    MUSTER_CHECK(verdict.has_value() == (unchanged && in_time && made.account > 0), "signed, unchanged, in time");
    if (verdict) MUSTER_CHECK(verdict->value == made.account, "it names the account that was signed");
    if (!verdict && unchanged && made.account > 0)
        MUSTER_CHECK(verdict.error() == Refusal::credential_expired, "the reason is the true one");
}

}  // namespace
}  // namespace muster::fuzz

FUZZ_TARGET("P-1: a credential lets its player in when one of the keys signed it just so, and in time") {
    muster::fuzz::FuzzInput input(data, size);
    muster::fuzz::judge(input);
    return 0;
}

// Signed player credentials: the holder of the key states who a player is (P-1).
//
//   v1.<base64url name>.<account id>.<expiry, Unix seconds>.<base64url HMAC-SHA256 of all before this dot>
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "config/secrets.h"
#include "protocol/error_texts.h"

namespace muster {

std::string make_player_credential(const Secret& key, std::string_view name, AccountId account,
                                   std::int64_t expires_unix_seconds);

// The account, when the credential is this name's, signed with one of these keys and not expired: checked in the order
// of P-1. Only the one text that make_player_credential() gives is good.
Result<AccountId, Refusal> judge_player_credential(const Secrets& keys, std::string_view name,
                                                   std::string_view credential, UnixMs now);

}  // namespace muster

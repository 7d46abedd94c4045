// A player's signed credential, made as the specification writes it (P-1).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace muster::storm {

struct CredentialClaim {
    std::string_view name;
    std::int32_t account = 0;
    std::int64_t expires_unix_seconds = 0;
};

std::string signed_credential(std::string_view key, const CredentialClaim& claim);

}  // namespace muster::storm

#include "credential.h"

#include <array>

#include <fmt/core.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

namespace muster::storm {
namespace {

std::string base64url(std::string_view bytes) {
    constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    std::string text;
    std::uint32_t bits = 0;
    int count = 0;
    for (const char each : bytes) {
        bits = bits << 8 | static_cast<unsigned char>(each);
        for (count += 8; count >= 6; count -= 6) text += digits[bits >> (count - 6) & 63];
    }
    if (count > 0) text += digits[bits << (6 - count) & 63];
    return text;
}

}  // namespace

std::string signed_credential(std::string_view key, const CredentialClaim& claim) {
    const std::string text =
        fmt::format("v1.{}.{}.{}", base64url(claim.name), claim.account, claim.expires_unix_seconds);
    std::array<unsigned char, EVP_MAX_MD_SIZE> mac{};
    unsigned int size = 0;
    HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(text.data()),
         text.size(), mac.data(), &size);
    return text + "." + base64url({reinterpret_cast<const char*>(mac.data()), size});
}

}  // namespace muster::storm

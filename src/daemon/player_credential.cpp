#include "daemon/player_credential.h"

#include <array>
#include <charconv>
#include <optional>
#include <system_error>

#include <fmt/core.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/check.h"

namespace muster {
namespace {

constexpr std::string_view version = "v1";
constexpr std::string_view base64url_digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

// Without padding.
std::string base64url(std::string_view bytes) {
    std::string text;
    std::uint32_t bits = 0;
    int count = 0;
    for (const char each : bytes) {
        bits = bits << 8 | static_cast<unsigned char>(each);
        for (count += 8; count >= 6; count -= 6) text += base64url_digits[bits >> (count - 6) & 63];
    }
    if (count > 0) text += base64url_digits[bits << (6 - count) & 63];
    return text;
}

std::string signature(const Secret& key, std::string_view text) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> mac{};
    unsigned int size = 0;
    const std::string_view bytes = key.reveal();
    const auto* done = HMAC(EVP_sha256(), bytes.data(), static_cast<int>(bytes.size()),
                            reinterpret_cast<const unsigned char*>(text.data()), text.size(), mac.data(), &size);
    MUSTER_CHECK(done != nullptr, "HMAC-SHA256 is always there");
    return base64url({reinterpret_cast<const char*>(mac.data()), size});
}

std::string unsigned_part(std::string_view name, std::int32_t account, std::int64_t expires) {
    return fmt::format("{}.{}.{}.{}", version, base64url(name), account, expires);
}

bool same(std::string_view a, std::string_view b) {
    return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

// Takes the part up to the next dot from the front of `text`; nothing when there is no dot.
std::optional<std::string_view> take_part(std::string_view& text) {
    const std::size_t dot = text.find('.');
    if (dot == text.npos) return std::nullopt;
    const std::string_view part = text.substr(0, dot);
    text.remove_prefix(dot + 1);
    return part;
}

template <class Number>
std::optional<Number> number_of(std::string_view text) {
    Number number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

}  // namespace

std::string make_player_credential(const Secret& key, std::string_view name, AccountId account,
                                   std::int64_t expires_unix_seconds) {
    const std::string text = unsigned_part(name, account.value, expires_unix_seconds);
    return text + "." + signature(key, text);
}

Result<AccountId, Refusal> judge_player_credential(const Secrets& keys, std::string_view name,
                                                   std::string_view credential, UnixMs now) {
    const std::size_t last_dot = credential.rfind('.');
    if (last_dot == credential.npos) return Failure(Refusal::invalid_credential);
    const std::string_view text = credential.substr(0, last_dot);
    bool is_signed = false;
    for (const Secret& key : keys.all()) is_signed |= same(credential.substr(last_dot + 1), signature(key, text));
    if (!is_signed) return Failure(Refusal::invalid_credential);

    // Whoever holds the key may still have written nonsense.
    std::string_view rest = text;
    const auto first = take_part(rest);
    const auto named = take_part(rest);
    const auto account_text = take_part(rest);
    const auto account = account_text ? number_of<std::int32_t>(*account_text) : std::nullopt;
    const auto expires = number_of<std::int64_t>(rest);
    if (!first || *first != version || !named || !account || *account <= 0 || !expires)
        return Failure(Refusal::invalid_credential);
    if (now.value / 1'000 >= *expires) return Failure(Refusal::credential_expired);
    if (*named != base64url(name)) return Failure(Refusal::invalid_name);
    if (text != unsigned_part(name, *account, *expires)) return Failure(Refusal::invalid_credential);
    return AccountId(*account);
}

}  // namespace muster

#include "http/operator_token.h"

#include <array>
#include <cstddef>
#include <span>

#include <openssl/sha.h>

namespace muster {
namespace {

constexpr std::size_t random_bytes = 32;

std::string hexadecimal(std::span<const std::byte> bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const std::byte byte : bytes) {
        const auto value = std::to_integer<std::size_t>(byte);
        text += digits[value >> 4];
        text += digits[value & 15];
    }
    return text;
}

}  // namespace

std::string make_operator_token(Entropy& entropy) {
    std::array<std::byte, random_bytes> bytes{};
    entropy.fill(bytes);
    return "muster_" + hexadecimal(bytes);
}

std::string hash_of_token(std::string_view token) {
    std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
    SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(), digest.data());
    return hexadecimal(std::as_bytes(std::span(digest)));
}

}  // namespace muster

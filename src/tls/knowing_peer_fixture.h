// For tests: a TLS client that has shaken hands by OpenSSL and then says whatever it likes, sealed with its right keys.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/ssl.h>

#include "tls/tls_records.h"

namespace muster {

// The records of one direction, by OpenSSL's HKDF and ciphers and by no code of TlsRecords.
class ForgedRecords {
public:
    ForgedRecords(std::uint32_t suite, const TrafficSecret& secret)
        : cipher_(suite == TLS1_3_CK_AES_128_GCM_SHA256         ? EVP_aes_128_gcm()
                  : suite == TLS1_3_CK_CHACHA20_POLY1305_SHA256 ? EVP_chacha20_poly1305()
                                                                : EVP_aes_256_gcm()),
          digest_(suite == TLS1_3_CK_AES_256_GCM_SHA384 ? "SHA384" : "SHA256"),
          secret_(secret.bytes.begin(), secret.bytes.begin() + static_cast<std::ptrdiff_t>(secret.size)) {
        take_key();
    }

    // A record with that type and content inside, and so many zeros behind it.
    std::vector<std::byte> record(std::uint8_t type, std::string_view content, std::size_t padding = 0) {
        std::string inner(content);
        inner += static_cast<char>(type);
        inner.append(padding, '\0');
        return sealed(inner);
    }

    std::vector<std::byte> sealed(const std::string& inner) {
        const std::size_t size = inner.size() + tag_size;
        std::vector<unsigned char> bytes{23, 3, 3, static_cast<unsigned char>(size >> 8),
                                         static_cast<unsigned char>(size & 0xff)};
        bytes.resize(header_size + size);
        std::array<unsigned char, 12> nonce{};
        std::memcpy(nonce.data(), iv_.data(), nonce.size());
        for (std::size_t i = 0; i < 8; ++i) nonce[11 - i] ^= static_cast<unsigned char>(sequence_ >> (8 * i));
        ++sequence_;
        const OpenSslHandle<EVP_CIPHER_CTX> context(EVP_CIPHER_CTX_new());
        int done = 0;
        EVP_EncryptInit_ex(context.get(), cipher_, nullptr, key_.data(), nonce.data());
        EVP_EncryptUpdate(context.get(), nullptr, &done, bytes.data(), header_size);
        EVP_EncryptUpdate(context.get(), bytes.data() + header_size, &done,
                          reinterpret_cast<const unsigned char*>(inner.data()), static_cast<int>(inner.size()));
        EVP_EncryptFinal_ex(context.get(), bytes.data() + header_size + done, &done);
        EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_GET_TAG, tag_size, bytes.data() + header_size + inner.size());
        const auto all = std::as_bytes(std::span(bytes));
        return {all.begin(), all.end()};
    }

    // What follows is sealed with the next key, as after a KeyUpdate.
    void take_next_key() {
        secret_ = expanded("traffic upd", secret_.size());
        take_key();
    }

private:
    static constexpr int header_size = 5;
    static constexpr int tag_size = 16;

    void take_key() {
        key_ = expanded("key", static_cast<std::size_t>(EVP_CIPHER_get_key_length(cipher_)));
        iv_ = expanded("iv", 12);
        sequence_ = 0;
    }
    std::vector<unsigned char> expanded(std::string_view label, std::size_t size) {
        std::string info{'\0', static_cast<char>(size), static_cast<char>(6 + label.size())};
        info.append("tls13 ").append(label).append(1, '\0');
        int mode = EVP_KDF_HKDF_MODE_EXPAND_ONLY;
        std::array parameters{OSSL_PARAM_construct_int(OSSL_KDF_PARAM_MODE, &mode),
                              OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest_.data(), 0),
                              OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, secret_.data(), secret_.size()),
                              OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info.data(), info.size()),
                              OSSL_PARAM_construct_end()};
        EVP_KDF* kdf = EVP_KDF_fetch(nullptr, "HKDF", nullptr);
        EVP_KDF_CTX* context = EVP_KDF_CTX_new(kdf);
        std::vector<unsigned char> made(size);
        EVP_KDF_derive(context, made.data(), made.size(), parameters.data());
        EVP_KDF_CTX_free(context);
        EVP_KDF_free(kdf);
        return made;
    }

    const EVP_CIPHER* cipher_;
    std::string digest_;
    std::vector<unsigned char> secret_;
    std::vector<unsigned char> key_;
    std::vector<unsigned char> iv_;
    std::uint64_t sequence_ = 0;
};

}  // namespace muster

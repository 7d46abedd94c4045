#include "tls/tls_records.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/ssl.h>

namespace muster {

struct TlsRecords::Suite {
    std::uint32_t id;
    const EVP_CIPHER* cipher;
    const EVP_MAC_CTX* mac;  // HMAC with the suite's digest, to be copied and given a key
    std::size_t key_size;
    std::size_t secret_size;
};

namespace {

constexpr std::size_t header_size = 5;
constexpr std::size_t tag_size = 16;
constexpr std::size_t content_max = TlsRecords::content_max_usual;
constexpr std::size_t sealed_max = content_max + 256;

// What is inside a record.
constexpr std::uint8_t type_alert = 21;
constexpr std::uint8_t type_handshake = 22;
constexpr std::uint8_t type_data = 23;

constexpr std::uint8_t alert_fatal = 2;
constexpr std::uint8_t user_canceled = 90;

// A message KeyUpdate without its last byte, which says whether the other side shall do the same.
constexpr std::array key_update{std::byte{24}, std::byte{0}, std::byte{0}, std::byte{1}};

std::size_t sealed_size(std::span<const std::byte> header) {
    return static_cast<std::size_t>(header[3]) << 8 | static_cast<std::size_t>(header[4]);
}

int as_int(std::size_t size) {
    return static_cast<int>(size);
}
const unsigned char* raw(const std::byte* bytes) {
    return reinterpret_cast<const unsigned char*>(bytes);
}
unsigned char* raw(std::byte* bytes) {
    return reinterpret_cast<unsigned char*>(bytes);
}

int digit(char letter) {
    if (letter >= '0' && letter <= '9') return letter - '0';
    if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
    if (letter >= 'A' && letter <= 'F') return letter - 'A' + 10;
    return -1;
}

struct MacRelease {
    void operator()(EVP_MAC_CTX* mac) const noexcept { EVP_MAC_CTX_free(mac); }
};
using MacHandle = std::unique_ptr<EVP_MAC_CTX, MacRelease>;

// Null when there is no memory.
const EVP_MAC_CTX* hmac_with(std::string digest) {
    EVP_MAC* hmac = EVP_MAC_fetch(nullptr, "HMAC", nullptr);
    MacHandle made(EVP_MAC_CTX_new(hmac));
    EVP_MAC_free(hmac);
    const std::array with{OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest.data(), 0),
                          OSSL_PARAM_construct_end()};
    if (!made || EVP_MAC_CTX_set_params(made.get(), with.data()) != 1) return nullptr;
    return made.release();
}

// HKDF-Expand-Label of RFC 8446 (7.1) without a context. What is wanted is never longer than the digest, so that one
// block of HKDF is enough.
bool expand(const EVP_MAC_CTX& hmac, const TrafficSecret& secret, std::string_view label, std::span<unsigned char> to) {
    constexpr std::string_view prefix = "tls13 ";
    std::array<unsigned char, 32> info{};
    std::size_t size = 0;
    info[size++] = 0;
    info[size++] = static_cast<unsigned char>(to.size());
    info[size++] = static_cast<unsigned char>(prefix.size() + label.size());
    for (const char letter : prefix) info[size++] = static_cast<unsigned char>(letter);
    for (const char letter : label) info[size++] = static_cast<unsigned char>(letter);
    info[size++] = 0;  // the context's size
    info[size++] = 1;  // the number of HKDF's block
    std::array<unsigned char, EVP_MAX_MD_SIZE> block{};
    std::size_t made = 0;
    const MacHandle mac(EVP_MAC_CTX_dup(&hmac));
    const bool good = mac && EVP_MAC_init(mac.get(), secret.bytes.data(), secret.size, nullptr) == 1 &&
                      EVP_MAC_update(mac.get(), info.data(), size) == 1 &&
                      EVP_MAC_final(mac.get(), block.data(), &made, block.size()) == 1 && made >= to.size();
    if (good) std::copy_n(block.begin(), to.size(), to.begin());
    OPENSSL_cleanse(block.data(), block.size());
    return good;
}

int secrets_index() {
    static const int made = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
    return made;
}

// "LABEL client-random secret".
void take_logged(const SSL* link, const char* text) {
    auto* start = static_cast<TlsRecords::Start*>(SSL_get_ex_data(link, secrets_index()));
    const std::string_view line(text);
    const std::size_t space = line.rfind(' ');
    if (!start || space == std::string_view::npos) return;
    const std::string_view secret = line.substr(space + 1);
    if (line.starts_with("CLIENT_TRAFFIC_SECRET_0 ")) start->client = TrafficSecret(secret);
    if (line.starts_with("SERVER_TRAFFIC_SECRET_0 ")) start->server = TrafficSecret(secret);
}

}  // namespace

void tell_secrets(SSL_CTX& context) {
    SSL_CTX_set_keylog_callback(&context, take_logged);
}

void hear_secrets(SSL& link, TlsRecords::Start& start) {
    SSL_set_ex_data(&link, secrets_index(), &start);
}

TrafficSecret::TrafficSecret(std::string_view hexadecimal) {
    if (hexadecimal.size() % 2 != 0 || hexadecimal.size() > 2 * size_max) return;
    for (std::size_t i = 0; i < hexadecimal.size(); i += 2) {
        const int high = digit(hexadecimal[i]);
        const int low = digit(hexadecimal[i + 1]);
        if (high < 0 || low < 0) return;
        bytes[i / 2] = static_cast<unsigned char>(high * 16 + low);
    }
    size = hexadecimal.size() / 2;
}

TrafficSecret::~TrafficSecret() {
    OPENSSL_cleanse(bytes.data(), bytes.size());
}

// Made once: to look them up for each link would cost more than all else here.
const TlsRecords::Suite* TlsRecords::find_suite(std::uint32_t id) {
    static const std::array suites{
        Suite{TLS1_3_CK_AES_128_GCM_SHA256, EVP_CIPHER_fetch(nullptr, "AES-128-GCM", nullptr), hmac_with("SHA256"), 16,
              32},
        Suite{TLS1_3_CK_AES_256_GCM_SHA384, EVP_CIPHER_fetch(nullptr, "AES-256-GCM", nullptr), hmac_with("SHA384"), 32,
              48},
        Suite{TLS1_3_CK_CHACHA20_POLY1305_SHA256, EVP_CIPHER_fetch(nullptr, "ChaCha20-Poly1305", nullptr),
              hmac_with("SHA256"), 32, 32},
    };
    const auto* found = std::find_if(suites.begin(), suites.end(), [id](const Suite& suite) { return suite.id == id; });
    return found == suites.end() || !found->cipher || !found->mac ? nullptr : found;
}

std::unique_ptr<TlsRecords> TlsRecords::begin(const Start& start) {
    const Suite* suite = find_suite(start.cipher);
    if (!suite || start.client.size != suite->secret_size || start.server.size != suite->secret_size) return nullptr;
    std::unique_ptr<TlsRecords> made(new TlsRecords(*suite));
    made->in_.secret = start.client;
    made->out_.secret = start.server;
    if (!made->take_key(made->in_, false) || !made->take_key(made->out_, true)) return nullptr;
    made->in_.sequence = start.records_heard;
    made->out_.sequence = start.records_sent;
    made->content_max_ = start.content_max;
    return made;
}

TlsRecords::~TlsRecords() = default;

TlsRecords::Direction::~Direction() {
    OPENSSL_cleanse(iv.data(), iv.size());
}

bool TlsRecords::take_key(Direction& direction, bool seals) {
    std::array<unsigned char, 32> key{};
    const std::span<unsigned char> used(key.data(), suite_.key_size);
    if (!direction.cipher) direction.cipher.reset(EVP_CIPHER_CTX_new());
    const bool good =
        direction.cipher && expand(*suite_.mac, direction.secret, "key", used) &&
        expand(*suite_.mac, direction.secret, "iv", direction.iv) &&
        EVP_CipherInit_ex2(direction.cipher.get(), suite_.cipher, key.data(), nullptr, seals ? 1 : 0, nullptr) == 1;
    OPENSSL_cleanse(key.data(), key.size());
    direction.sequence = 0;
    return good;
}

bool TlsRecords::take_next_key(Direction& direction, bool seals) {
    TrafficSecret next;
    next.size = direction.secret.size;
    if (!expand(*suite_.mac, direction.secret, "traffic upd", {next.bytes.data(), next.size})) return false;
    direction.secret = next;
    return take_key(direction, seals);
}

std::size_t TlsRecords::receive(std::span<const std::byte> sealed, std::span<std::byte> plain,
                                std::vector<std::byte>& out) {
    std::size_t written = 0;
    key_changes_ = 0;
    while (state_ == State::open && !sealed.empty()) {
        // The header, then the rest: of what came before, or where it lies.
        std::span<const std::byte> record = sealed;
        if (!partial_.empty()) {
            const std::size_t have = partial_.size();
            const std::size_t wanted = have < header_size ? header_size : header_size + sealed_size(partial_);
            const std::size_t more = std::min(wanted - have, sealed.size());
            partial_.insert(partial_.end(), sealed.begin(), sealed.begin() + static_cast<std::ptrdiff_t>(more));
            sealed = sealed.subspan(more);
            record = partial_;
        }
        const bool headed = record.size() >= header_size;
        if (headed && record[0] != std::byte{type_data}) {
            fail(SSL_AD_UNEXPECTED_MESSAGE, TlsFailure::broken, "unexpected record", out);
            break;
        }
        if (headed && sealed_size(record) > sealed_max) {
            fail(SSL_AD_RECORD_OVERFLOW, TlsFailure::broken, "encrypted length too long", out);
            break;
        }
        const std::size_t size = headed ? header_size + sealed_size(record) : header_size;
        if (!headed || record.size() < size) {
            if (partial_.empty()) {
                partial_.assign(sealed.begin(), sealed.end());
                sealed = {};
            }
            continue;
        }
        written += unseal(record.first(size), plain.subspan(written), out);
        if (partial_.empty()) {
            sealed = sealed.subspan(size);
        } else {
            std::vector<std::byte>().swap(partial_);
        }
    }
    if (state_ == State::failed) return written;
    const bool wants_key_change = in_.sequence >= records_per_key && !awaits_key_change_;
    if (wants_key_change || owes_key_change_) change_own_key(wants_key_change ? PeerToo::yes : PeerToo::no, out);
    awaits_key_change_ |= wants_key_change;
    return written;
}

// Returns how many bytes for those above were written to `plain`.
std::size_t TlsRecords::unseal(std::span<const std::byte> record, std::span<std::byte> plain,
                               std::vector<std::byte>& out) {
    const auto header = record.first(header_size);
    auto body = record.subspan(header_size);
    if (body.size() <= tag_size || body.size() - tag_size > plain.size()) {
        fail(SSL_AD_BAD_RECORD_MAC, TlsFailure::broken, "length too short", out);
        return 0;
    }
    const auto tag = body.last(tag_size);
    body = body.first(body.size() - tag_size);
    if (body.size() > content_max + 1) {
        fail(SSL_AD_RECORD_OVERFLOW, TlsFailure::broken, "data length too long", out);
        return 0;
    }

    std::array<unsigned char, 12> nonce = in_.iv;
    for (std::size_t i = 0; i < 8; ++i) nonce[11 - i] ^= static_cast<unsigned char>(in_.sequence >> (8 * i));
    std::array<unsigned char, tag_size> shown{};
    std::memcpy(shown.data(), tag.data(), tag_size);
    EVP_CIPHER_CTX* cipher = in_.cipher.get();
    int size = 0;
    int last = 0;
    const std::array with_tag{OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, shown.data(), tag_size),
                              OSSL_PARAM_construct_end()};
    const bool good = EVP_CipherInit_ex2(cipher, nullptr, nullptr, nonce.data(), -1, with_tag.data()) == 1 &&
                      EVP_CipherUpdate(cipher, nullptr, &size, raw(header.data()), header_size) == 1 &&
                      EVP_CipherUpdate(cipher, raw(plain.data()), &size, raw(body.data()), as_int(body.size())) == 1 &&
                      EVP_CipherFinal_ex(cipher, raw(plain.data()) + size, &last) == 1;
    if (!good) {
        OPENSSL_cleanse(plain.data(), body.size());
        fail(SSL_AD_BAD_RECORD_MAC, TlsFailure::broken, "decryption failed or bad record mac", out);
        return 0;
    }
    ++in_.sequence;

    // The type stands behind the content, and zeros may stand behind the type.
    std::size_t end = body.size();
    while (end > 0 && plain[end - 1] == std::byte{0}) --end;
    if (end == 0) {
        fail(SSL_AD_UNEXPECTED_MESSAGE, TlsFailure::broken, "bad record type", out);
        return 0;
    }
    const auto type = static_cast<std::uint8_t>(plain[end - 1]);
    if (type == type_data && end > 1) {
        empty_records_ = 0;
        return end - 1;
    }
    if (++empty_records_ > empty_records_max) {
        fail(SSL_AD_UNEXPECTED_MESSAGE, TlsFailure::broken, "too many empty records", out);
        return 0;
    }
    if (type != type_data) hear(type, plain.first(end - 1), out);
    return 0;
}

// What the peer's TLS says to ours. Of handshakes only KeyUpdate may follow, for nothing else was offered, and it comes
// alone and whole: nobody cuts up its five bytes, and nothing may follow it under the same key.
void TlsRecords::hear(std::uint8_t type, std::span<const std::byte> content, std::vector<std::byte>& out) {
    if (type == type_alert && content.size() == 2) return hear_alert(static_cast<std::uint8_t>(content[1]));
    const bool updates = type == type_handshake && content.size() >= key_update.size() && content[0] == key_update[0];
    if (!updates) return fail(SSL_AD_UNEXPECTED_MESSAGE, TlsFailure::broken, "unexpected message", out);
    const std::size_t said = static_cast<std::size_t>(content[1]) << 16 | static_cast<std::size_t>(content[2]) << 8 |
                             static_cast<std::size_t>(content[3]);
    if (said > 1) return fail(SSL_AD_ILLEGAL_PARAMETER, TlsFailure::broken, "excessive message size", out);
    if (said < 1) return fail(SSL_AD_DECODE_ERROR, TlsFailure::broken, "bad key update", out);
    if (content.size() != key_update.size() + 1)
        return fail(SSL_AD_UNEXPECTED_MESSAGE, TlsFailure::broken, "not on record boundary", out);
    hear_key_update(content.back(), out);
}

void TlsRecords::hear_alert(std::uint8_t alert) {
    if (alert == user_canceled) return;
    if (alert == SSL_AD_CLOSE_NOTIFY) {
        state_ = State::ended;
        return;
    }
    state_ = State::failed;
    failure_ = TlsFailure::refused_by_peer;
    failure_text_ = SSL_alert_desc_string_long(alert);
}

void TlsRecords::hear_key_update(std::byte request, std::vector<std::byte>& out) {
    if (request > std::byte{1}) return fail(SSL_AD_ILLEGAL_PARAMETER, TlsFailure::broken, "bad key update", out);
    if (++key_changes_ > key_changes_max)
        return fail(SSL_AD_UNEXPECTED_MESSAGE, TlsFailure::broken, "too many key updates", out);
    if (!take_next_key(in_, false)) throw std::bad_alloc();
    awaits_key_change_ = false;
    // However often it is asked for in the bytes at hand, it is done once.
    if (request == std::byte{1}) owes_key_change_ = true;
}

// The peer is told to do the same, or not.
void TlsRecords::change_own_key(PeerToo peer_too, std::vector<std::byte>& out) {
    owes_key_change_ = false;
    std::array<std::byte, key_update.size() + 1> message{};
    std::copy(key_update.begin(), key_update.end(), message.begin());
    message.back() = static_cast<std::byte>(peer_too);
    seal(type_handshake, message, out);
    if (!take_next_key(out_, true)) throw std::bad_alloc();
}

void TlsRecords::send(std::span<const std::byte> plain, std::vector<std::byte>& out) {
    while (!plain.empty()) {
        if (out_.sequence >= records_per_key) change_own_key(PeerToo::no, out);
        const auto content = plain.first(std::min<std::size_t>(plain.size(), content_max_));
        seal(type_data, content, out);
        plain = plain.subspan(content.size());
    }
}

void TlsRecords::send_ticket(std::span<const std::byte> message, std::vector<std::byte>& out) {
    seal(type_handshake, message, out);
}

void TlsRecords::close(std::vector<std::byte>& out) {
    if (std::exchange(said_end_, true)) return;
    seal(type_alert, std::array{std::byte{1}, std::byte{SSL_AD_CLOSE_NOTIFY}}, out);
}

void TlsRecords::seal(std::uint8_t type, std::span<const std::byte> content, std::vector<std::byte>& out) {
    const std::size_t inner = content.size() + 1;
    const std::size_t size = inner + tag_size;
    const std::size_t at = out.size();
    out.resize(at + header_size + size);
    std::byte* header = out.data() + at;
    header[0] = std::byte{type_data};
    header[1] = std::byte{3};
    header[2] = std::byte{3};
    header[3] = static_cast<std::byte>(size >> 8);
    header[4] = static_cast<std::byte>(size & 0xff);
    std::byte* body = header + header_size;
    if (!content.empty()) std::memcpy(body, content.data(), content.size());
    body[content.size()] = std::byte{type};

    std::array<unsigned char, 12> nonce = out_.iv;
    for (std::size_t i = 0; i < 8; ++i) nonce[11 - i] ^= static_cast<unsigned char>(out_.sequence >> (8 * i));
    EVP_CIPHER_CTX* cipher = out_.cipher.get();
    int done = 0;
    int last = 0;
    std::array made_tag{OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, raw(body) + inner, tag_size),
                        OSSL_PARAM_construct_end()};
    const bool good = EVP_CipherInit_ex2(cipher, nullptr, nullptr, nonce.data(), -1, nullptr) == 1 &&
                      EVP_CipherUpdate(cipher, nullptr, &done, raw(header), header_size) == 1 &&
                      EVP_CipherUpdate(cipher, raw(body), &done, raw(body), as_int(inner)) == 1 &&
                      EVP_CipherFinal_ex(cipher, raw(body) + done, &last) == 1 &&
                      EVP_CIPHER_CTX_get_params(cipher, made_tag.data()) == 1;
    // Only memory can be short here; nothing that was not sealed may go out.
    if (!good) {
        out.resize(at);
        throw std::bad_alloc();
    }
    ++out_.sequence;
}

void TlsRecords::fail(std::uint8_t alert, TlsFailure why, std::string_view text, std::vector<std::byte>& out) {
    state_ = State::failed;
    failure_ = why;
    failure_text_ = text;
    seal(type_alert, std::array{std::byte{alert_fatal}, std::byte{alert}}, out);
}

}  // namespace muster

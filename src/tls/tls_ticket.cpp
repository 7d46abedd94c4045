#include "tls/tls_ticket.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>

#include "tls/tls_context.h"

namespace muster {
namespace {

using RawBytes = std::vector<unsigned char>;

constexpr std::size_t iv_size = 16;
constexpr std::size_t block_size = 16;
constexpr std::size_t mac_size = 32;

int start_index() {
    static const int made = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
    return made;
}

TicketStart* start_of(const SSL* link) {
    return static_cast<TicketStart*>(SSL_get_ex_data(link, start_index()));
}

// OpenSSL is about to write a ticket, and has derived its secret. It is told to write one that is a mere number, which
// costs nothing and is never sent.
int begin_ticket(SSL* link, void*) {
    TicketStart* start = start_of(link);
    if (!start) return 0;
    start->secret.size =
        SSL_SESSION_get_master_key(SSL_get_session(link), start->secret.bytes.data(), start->secret.bytes.size());
    SSL_set_options(link, SSL_OP_NO_TICKET);
    return 1;
}

// Every message of the handshake, in the clear. Of NewSessionTicket what precedes the ticket is kept.
void hear_message(int is_sent, int, int type, const void* bytes, std::size_t size, SSL*, void* to) {
    constexpr std::size_t header = 4;
    constexpr std::size_t nonce_at = header + 8;  // its size, behind lifetime and age_add
    const std::span message(static_cast<const std::byte*>(bytes), size);
    if (is_sent == 0 || type != SSL3_RT_HANDSHAKE || size <= nonce_at) return;
    if (message[0] != std::byte{SSL3_MT_NEWSESSION_TICKET}) return;
    const std::size_t end = nonce_at + 1 + static_cast<std::size_t>(message[nonce_at]);
    auto& head = static_cast<TicketStart*>(to)->head;
    // Without memory there is no ticket; nothing may be thrown through OpenSSL.
    try {
        if (end <= size) head.assign(message.begin() + header, message.begin() + static_cast<std::ptrdiff_t>(end));
    } catch (const std::exception&) {
        head.clear();
    }
}

// A peer shows a ticket: which key it is to be unsealed with. 0: none of ours, and the handshake is a full one.
int find_key(SSL* link, unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac, int seals) {
    const auto key = TlsServerContext::of(*link).tickets()->find(
        std::span<const unsigned char, TicketKey::name_size>(name, TicketKey::name_size));
    if (seals != 0 || !key) return 0;
    TicketKey::Key mac_key = key->mac;
    std::array digest{'S', 'H', 'A', '2', '5', '6', '\0'};
    const std::array with{OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, mac_key.data(), mac_key.size()),
                          OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest.data(), 0),
                          OSSL_PARAM_construct_end()};
    const bool good = EVP_MAC_CTX_set_params(mac, with.data()) == 1 &&
                      EVP_DecryptInit_ex(cipher, EVP_aes_256_cbc(), nullptr, key->cipher.data(), iv) == 1;
    OPENSSL_cleanse(mac_key.data(), mac_key.size());
    return good ? 1 : -1;
}

// The ticket was unsealed, or could not be. Its peer is judged as if it had shown its certificate again; who is not
// good any more makes a full handshake, and hears there what is wrong.
SSL_TICKET_RETURN judge_ticket(SSL* link, SSL_SESSION* session, const unsigned char*, std::size_t,
                               SSL_TICKET_STATUS status, void*) {
    if (status != SSL_TICKET_SUCCESS && status != SSL_TICKET_SUCCESS_RENEW) return SSL_TICKET_RETURN_IGNORE_RENEW;
    try {
        if (TlsServerContext::of(*link).admits(proof_of(*session))) return SSL_TICKET_RETURN_USE_RENEW;
    } catch (const std::exception&) {
        return SSL_TICKET_RETURN_ABORT;
    }
    return SSL_TICKET_RETURN_IGNORE_RENEW;
}

// Its size in two bytes, then the text: all of them come from a certificate, which is shorter than that.
void put_text(std::string& to, std::string_view text) {
    to += static_cast<char>(text.size() >> 8);
    to += static_cast<char>(text.size() & 0xff);
    to += text;
}

std::string take_text(std::string_view& from) {
    if (from.size() < 2) return {};
    const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(from[i])); };
    const std::size_t size = std::min(byte(0) << 8 | byte(1), from.size() - 2);
    std::string text(from.substr(2, size));
    from.remove_prefix(2 + size);
    return text;
}

std::string packed(const TicketProof& proof) {
    std::string all;
    put_text(all, proof.authorities);
    if (!proof.peer) return all;
    put_text(all, std::to_string(proof.peer->not_after));
    put_text(all, proof.peer->serial);
    put_text(all, proof.peer->unit);
    put_text(all, proof.peer->name);
    return all;
}

// What OpenSSL reads a session from. Empty when there is no memory.
RawBytes session_bytes(const SSL& link, const TicketStart& start, const TicketProof& proof) {
    const SSL_SESSION* now = SSL_get_session(&link);
    const std::string said = packed(proof);
    unsigned int port_size = 0;
    const unsigned char* port = SSL_SESSION_get0_id_context(now, &port_size);
    const OpenSslHandle<SSL_SESSION> made(SSL_SESSION_new());
    if (!made || SSL_SESSION_set_protocol_version(made.get(), TLS1_3_VERSION) != 1 ||
        SSL_SESSION_set_cipher(made.get(), SSL_get_current_cipher(&link)) != 1 ||
        SSL_SESSION_set1_master_key(made.get(), start.secret.bytes.data(), start.secret.size) != 1 ||
        SSL_SESSION_set1_id_context(made.get(), port, port_size) != 1 ||
        SSL_SESSION_set1_ticket_appdata(made.get(), said.data(), said.size()) != 1)
        return {};
    SSL_SESSION_set_time(made.get(), SSL_SESSION_get_time(now));
    SSL_SESSION_set_timeout(made.get(), SSL_SESSION_get_timeout(now));
    const int size = i2d_SSL_SESSION(made.get(), nullptr);
    if (size <= 0) return {};
    RawBytes bytes(static_cast<std::size_t>(size));
    unsigned char* to = bytes.data();
    i2d_SSL_SESSION(made.get(), &to);
    return bytes;
}

// The key's name, the IV, the sealed bytes, and the MAC of all of these. Empty when it cannot be done.
RawBytes sealed(const RawBytes& bytes, const TicketKey& key) {
    RawBytes ticket(key.name.begin(), key.name.end());
    ticket.resize(TicketKey::name_size + iv_size + bytes.size() + block_size);
    unsigned char* iv = ticket.data() + TicketKey::name_size;
    unsigned char* body = iv + iv_size;
    int most = 0;
    int last = 0;
    const OpenSslHandle<EVP_CIPHER_CTX> cipher(EVP_CIPHER_CTX_new());
    if (!cipher || RAND_bytes(iv, iv_size) != 1 ||
        EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_cbc(), nullptr, key.cipher.data(), iv) != 1 ||
        EVP_EncryptUpdate(cipher.get(), body, &most, bytes.data(), static_cast<int>(bytes.size())) != 1 ||
        EVP_EncryptFinal_ex(cipher.get(), body + most, &last) != 1)
        return {};
    ticket.resize(TicketKey::name_size + iv_size + static_cast<std::size_t>(most) + static_cast<std::size_t>(last));
    std::array<unsigned char, mac_size> mac{};
    if (!HMAC(EVP_sha256(), key.mac.data(), static_cast<int>(key.mac.size()), ticket.data(), ticket.size(), mac.data(),
              nullptr))
        return {};
    ticket.insert(ticket.end(), mac.begin(), mac.end());
    return ticket;
}

void put_number(std::vector<std::byte>& to, std::size_t number, int bytes) {
    while (bytes-- > 0) to.push_back(static_cast<std::byte>(number >> (8 * bytes) & 0xff));
}

}  // namespace

void use_tickets(SSL_CTX& context) {
    SSL_CTX_set_timeout(&context, TicketKeys::ticket_seconds);
    SSL_CTX_set_session_ticket_cb(&context, begin_ticket, judge_ticket, nullptr);
    SSL_CTX_set_tlsext_ticket_key_evp_cb(&context, find_key);
}

void hear_ticket(SSL& link, TicketStart& start) {
    SSL_clear_options(&link, SSL_OP_NO_TICKET);
    SSL_set_num_tickets(&link, 1);
    SSL_set_ex_data(&link, start_index(), &start);
    SSL_set_msg_callback(&link, hear_message);
    SSL_set_msg_callback_arg(&link, &start);
}

std::vector<std::byte> ticket_message(const SSL& link, const TicketStart& start, const TicketKey& key,
                                      const TicketProof& proof) {
    RawBytes bytes = session_bytes(link, start, proof);
    const RawBytes ticket = bytes.empty() ? RawBytes() : sealed(bytes, key);
    OPENSSL_cleanse(bytes.data(), bytes.size());
    if (ticket.empty()) return {};
    const auto body = std::as_bytes(std::span(ticket));
    constexpr std::size_t no_extensions = 0;
    std::vector<std::byte> message{std::byte{SSL3_MT_NEWSESSION_TICKET}};
    put_number(message, start.head.size() + 2 + body.size() + 2, 3);
    message.insert(message.end(), start.head.begin(), start.head.end());
    put_number(message, body.size(), 2);
    message.insert(message.end(), body.begin(), body.end());
    put_number(message, no_extensions, 2);
    return message;
}

TicketProof proof_of(const SSL_SESSION& session) {
    void* data = nullptr;
    std::size_t size = 0;
    SSL_SESSION_get0_ticket_appdata(const_cast<SSL_SESSION*>(&session), &data, &size);
    std::string_view rest(static_cast<const char*>(data), size);
    TicketProof proof;
    proof.authorities = take_text(rest);
    if (rest.empty()) return proof;
    CertificateFacts facts;
    const std::string not_after = take_text(rest);
    std::from_chars(not_after.data(), not_after.data() + not_after.size(), facts.not_after);
    facts.serial = take_text(rest);
    facts.unit = take_text(rest);
    facts.name = take_text(rest);
    proof.peer = std::move(facts);
    return proof;
}

}  // namespace muster

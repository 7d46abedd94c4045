// The records of a TLS 1.3 link whose handshake is over: seals and unseals, and follows changes of keys.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "tls/openssl_handle.h"
#include "tls/tls_failure.h"

namespace muster {

// What both sides know when the handshake is over, from which the keys of the records follow (RFC 8446, 7.3). Wiped
// when it goes.
struct TrafficSecret {
    static constexpr std::size_t size_max = 48;

    TrafficSecret() = default;
    // As OpenSSL's key log writes it: two hexadecimal digits a byte. Empty when the text is no such secret.
    explicit TrafficSecret(std::string_view hexadecimal);
    TrafficSecret(const TrafficSecret&) = default;
    TrafficSecret& operator=(const TrafficSecret&) = default;
    ~TrafficSecret();

    std::array<unsigned char, size_max> bytes{};
    std::size_t size = 0;
};

// The server's side. One thread. It keeps a part of a record that came so far, and nothing else, between two calls.
// Calls that take `out` append bytes for the peer to it; they throw std::bad_alloc, after which the link is good for
// nothing: no nonce is used for two records that may both have left.
//
// An end of the stream without the peer's close_notify is not told apart here: who reads the socket sees it. Frames
// have lengths, and whatever ends a match or a session is a frame, so a cut says nothing but that the link is lost.
class TlsRecords {
public:
    enum class State : std::uint8_t {
        open,
        ended,   // the peer says no more
        failed,  // see failure(); the peer was told
    };

    // What one record holds at most, unless the peer asked for less (RFC 6066, 4).
    static constexpr std::uint16_t content_max_usual = 1 << 14;

    struct Start {
        TrafficSecret client;
        TrafficSecret server;
        std::uint32_t cipher = 0;         // the suite, by OpenSSL's id
        std::uint64_t records_sent = 0;   // under the server's secret already
        std::uint64_t records_heard = 0;  // under the client's
        std::uint16_t content_max = content_max_usual;
    };
    // Null when the suite is none of TLS 1.3's three with GCM or Poly1305, or a secret does not fit it.
    static std::unique_ptr<TlsRecords> begin(const Start& start);

    TlsRecords(const TlsRecords&) = delete;
    TlsRecords& operator=(const TlsRecords&) = delete;
    ~TlsRecords();

    State state() const { return state_; }
    TlsFailure failure() const { return failure_; }
    std::string_view failure_text() const { return failure_text_; }

    // Takes all of `sealed`. `plain` is `partial_max` larger at least.
    std::size_t receive(std::span<const std::byte> sealed, std::span<std::byte> plain, std::vector<std::byte>& out);
    void send(std::span<const std::byte> plain, std::vector<std::byte>& out);
    // A whole message NewSessionTicket.
    void send_ticket(std::span<const std::byte> message, std::vector<std::byte>& out);
    // Once, however often it is called. Nothing may be sent after it.
    void close(std::vector<std::byte>& out);

    // Bytes of a record that has not come whole.
    std::size_t partial() const { return partial_.size(); }

    // After so many records the server takes its next key by itself, and asks the peer to when it has sent as many:
    // less than half of what RFC 8446 (5.5) allows for a key.
    static constexpr std::uint64_t records_per_key = std::uint64_t{1} << 23;
    // Records in a row that say nothing, and changes of keys in the bytes of one call; more of them are an attack: each
    // costs us more than the peer.
    static constexpr int empty_records_max = 32;
    static constexpr int key_changes_max = 32;
    // What a caller of receive() has to have room for, besides what it hands in.
    static constexpr std::size_t partial_max = std::size_t{17} * 1024;

private:
    struct Suite;
    // One direction's key, and how many records it has been used for.
    struct Direction {
        Direction() = default;
        Direction(const Direction&) = delete;
        Direction& operator=(const Direction&) = delete;
        ~Direction();

        TrafficSecret secret;
        std::array<unsigned char, 12> iv{};
        std::uint64_t sequence = 0;
        OpenSslHandle<EVP_CIPHER_CTX> cipher;
    };

    explicit TlsRecords(const Suite& suite) : suite_(suite) {}
    static const Suite* find_suite(std::uint32_t id);
    bool take_key(Direction& direction, bool seals);
    bool take_next_key(Direction& direction, bool seals);
    std::size_t unseal(std::span<const std::byte> record, std::span<std::byte> plain, std::vector<std::byte>& out);
    void hear(std::uint8_t type, std::span<const std::byte> content, std::vector<std::byte>& out);
    void hear_alert(std::uint8_t alert);
    void hear_key_update(std::byte request, std::vector<std::byte>& out);
    void seal(std::uint8_t type, std::span<const std::byte> content, std::vector<std::byte>& out);
    enum class PeerToo : std::uint8_t { no, yes };
    void change_own_key(PeerToo peer_too, std::vector<std::byte>& out);
    void fail(std::uint8_t alert, TlsFailure why, std::string_view text, std::vector<std::byte>& out);

    const Suite& suite_;
    Direction in_;
    Direction out_;
    std::vector<std::byte> partial_;                 // of a record that has not come whole
    std::uint16_t content_max_ = content_max_usual;  // of what we send
    State state_ = State::open;
    TlsFailure failure_ = TlsFailure::broken;
    bool owes_key_change_ = false;    // the peer asked for it
    bool awaits_key_change_ = false;  // we asked for it
    bool said_end_ = false;
    int empty_records_ = 0;
    int key_changes_ = 0;            // of the peer, in the call under way
    std::string_view failure_text_;  // of one that lives forever
};

// Links of this context tell their secrets to whoever asked for them. OpenSSL has no other way to ask than its key log.
void tell_secrets(SSL_CTX& context);
// Fills in `start`'s secrets while `link` shakes hands; it outlives the link.
void hear_secrets(SSL& link, TlsRecords::Start& start);

}  // namespace muster

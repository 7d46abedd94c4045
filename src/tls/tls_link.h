// One side of a TLS link, without a socket: bytes of the peer go in, plain bytes and bytes for the peer come out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tls/openssl_handle.h"
#include "tls/tls_context.h"
#include "tls/tls_failure.h"
#include "tls/tls_records.h"

namespace muster {

// OpenSSL shakes hands. After that a server's side keeps the keys only (TlsRecords), for it has thousands of links that
// are idle; a client's side stays OpenSSL's.
//
// One thread. Every call that takes `out` appends bytes for the peer to it, also when it fails: then they tell the peer
// why. They throw std::bad_alloc, after which the link is good for nothing.
class TlsLink {
public:
    enum class State : std::uint8_t {
        handshaking,
        open,
        ended,   // the peer says no more
        failed,  // see failure()
    };

    // What one receive() may yield at most, over the bytes it was given: the rest of a record that came before.
    static constexpr std::size_t plain_extra = TlsRecords::partial_max;
    // All that a server hears before the handshake is over.
    static constexpr std::size_t handshake_max = std::size_t{64} * 1024;

    // The server's side.
    explicit TlsLink(const std::shared_ptr<const TlsServerContext>& context);
    // The client's side, for a peer whose certificate must name `peer`, an address or a DNS name. With a session of an
    // earlier link to it the handshake may be short.
    TlsLink(const std::shared_ptr<const TlsClientContext>& context, const std::string& peer,
            const SSL_SESSION* session = nullptr);
    TlsLink(const TlsLink&) = delete;
    TlsLink& operator=(const TlsLink&) = delete;
    ~TlsLink();

    State state() const { return state_; }
    // Whether the peer's first message has come whole and was answered. Asked of thousands that wait for their turn.
    bool has_begun() const { return state_ != State::handshaking || ssl_ != nullptr; }
    // Whether the peer has said anything yet.
    bool has_heard() const { return heard_ > 0; }
    // Bytes that a server's link keeps: of its first message, or of a record once it is open, that has not come whole.
    std::size_t partial() const { return records_ ? records_->partial() : first_.size(); }

    // A client speaks first: call it once.
    void begin(std::vector<std::byte>& out);

    // Takes all of `sealed`, which is what the peer sent next, and writes what it says to `plain`, which is
    // `plain_extra` larger at least. Returns how much. What came whole before a failure is still given.
    std::size_t receive(std::span<const std::byte> sealed, std::span<std::byte> plain, std::vector<std::byte>& out);

    // Seals the bytes; only when open, or when the peer has ended its side. False when the link fails by it.
    bool send(std::span<const std::byte> plain, std::vector<std::byte>& out);

    // Says that nothing more follows, once.
    void close(std::vector<std::byte>& out);

    // Once failed: why, and OpenSSL's words for it.
    TlsFailure failure() const { return failure_; }
    const std::string& failure_text() const { return failure_text_; }

    // Once open, on the server's side: what the peer's certificate says; nothing when it showed none.
    const std::optional<CertificateFacts>& peer() const { return peer_; }
    bool was_resumed() const { return was_resumed_; }
    // For the client's next link to the same peer; null when the server has not allowed it.
    OpenSslHandle<SSL_SESSION> session() const;

private:
    // What OpenSSL reads from and writes to while a call runs.
    struct Bytes {
        std::span<const std::byte> in;
        std::vector<std::byte>* out = nullptr;
        bool out_of_memory = false;
    };
    friend struct TlsLinkBio;

    bool take_first_bytes(std::span<const std::byte>& sealed);
    // What OpenSSL tells while hands are shaken.
    struct Handshake {
        TlsRecords::Start secrets;
        TicketStart ticket;
    };

    void refuse(TlsFailure why, std::string_view text);
    void begin_server();
    void attach();
    template <class Call>
    auto with(std::span<const std::byte> in, std::vector<std::byte>& out, Call call);
    void shake_hands();
    bool take_records(std::vector<std::byte>& out);
    void give_ticket(std::vector<std::byte>& out);
    std::size_t receive_records(std::span<const std::byte> sealed, std::span<std::byte> plain,
                                std::vector<std::byte>& out);
    void went_wrong(int returned);
    void fail(unsigned long error);

    std::shared_ptr<const void> context_;       // whichever it is, it outlives the link
    const TlsServerContext* server_ = nullptr;  // null: the client's side
    std::unique_ptr<Handshake> handshake_;      // of a server, for as long as `ssl_`
    OpenSslHandle<SSL> ssl_;                    // of a server, from the first bytes until the handshake is over
    std::unique_ptr<TlsRecords> records_;       // of a server, from then on
    std::vector<std::byte> first_;              // of a server: of a first message that has not come whole
    std::size_t heard_ = 0;                     // bytes, while the handshake runs
    std::optional<CertificateFacts> peer_;
    Bytes bytes_;
    bool was_resumed_ = false;
    State state_ = State::handshaking;
    TlsFailure failure_ = TlsFailure::broken;
    std::string failure_text_;
};

}  // namespace muster

#include "tls/tls_link.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <new>
#include <utility>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include "tls/client_link.h"
#include "tls/hello_look.h"
#include "tls/tls_error.h"

namespace muster {

// How OpenSSL reaches the bytes of the call under way. A link keeps no buffer of its own between calls.
struct TlsLinkBio {
    static TlsLink::Bytes& bytes(BIO* bio) { return *static_cast<TlsLink::Bytes*>(BIO_get_data(bio)); }

    static int read(BIO* bio, char* to, int size) {
        BIO_clear_retry_flags(bio);
        std::span<const std::byte>& in = bytes(bio).in;
        if (in.empty()) {
            BIO_set_retry_read(bio);
            return -1;
        }
        const std::size_t count = std::min(in.size(), static_cast<std::size_t>(size));
        std::memcpy(to, in.data(), count);
        in = in.subspan(count);
        return static_cast<int>(count);
    }

    // Takes everything: who called decides how much may wait for a peer.
    static int write(BIO* bio, const char* from, int size) {
        BIO_clear_retry_flags(bio);
        TlsLink::Bytes& all = bytes(bio);
        try {
            const auto* begin = reinterpret_cast<const std::byte*>(from);
            all.out->insert(all.out->end(), begin, begin + size);
            return size;
        } catch (const std::bad_alloc&) {
            all.out_of_memory = true;
            return -1;
        }
    }

    static long control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

    static BIO_METHOD* method() {
        static BIO_METHOD* const made = [] {
            BIO_METHOD* method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "bytes of a link");
            if (!method) throw std::bad_alloc();
            BIO_meth_set_read(method, read);
            BIO_meth_set_write(method, write);
            BIO_meth_set_ctrl(method, control);
            return method;
        }();
        return made;
    }
};

TlsLink::TlsLink(const std::shared_ptr<const TlsServerContext>& context) : context_(context), server_(context.get()) {}

// Made when the peer has said something: thousands may come at once and wait for their turn.
void TlsLink::begin_server() {
    ssl_.reset(SSL_new(&server_->native()));
    if (!ssl_) throw std::bad_alloc();
    attach();
    SSL_set_accept_state(ssl_.get());
    handshake_ = std::make_unique<Handshake>();
    hear_secrets(*ssl_, handshake_->secrets);
    if (server_->tickets()) {
        hear_ticket(*ssl_, handshake_->ticket);
    } else {
        SSL_set_num_tickets(ssl_.get(), 0);
    }
}

TlsLink::TlsLink(const std::shared_ptr<const TlsClientContext>& context, const std::string& peer,
                 const SSL_SESSION* session)
    : context_(context), ssl_(new_client_link(*context, peer)) {
    attach();
    if (session) SSL_set_session(ssl_.get(), const_cast<SSL_SESSION*>(session));
}

// A session may be used again although its link was lost: without this OpenSSL would forbid it.
TlsLink::~TlsLink() {
    if (ssl_ && state_ != State::failed) SSL_set_shutdown(ssl_.get(), SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
}

void TlsLink::attach() {
    BIO* bio = BIO_new(TlsLinkBio::method());
    if (!bio) throw std::bad_alloc();
    BIO_set_data(bio, &bytes_);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl_.get(), bio, bio);
}

// Errors of another link on this thread must not be taken for this one's.
template <class Call>
auto TlsLink::with(std::span<const std::byte> in, std::vector<std::byte>& out, Call call) {
    bytes_ = {in, &out, false};
    ERR_clear_error();
    const auto result = call();
    const bool out_of_memory = bytes_.out_of_memory;
    bytes_ = {};
    if (!out_of_memory) return result;
    ERR_clear_error();
    throw std::bad_alloc();
}

void TlsLink::begin(std::vector<std::byte>& out) {
    with({}, out, [this] {
        shake_hands();
        return 0;
    });
}

std::size_t TlsLink::receive(std::span<const std::byte> sealed, std::span<std::byte> plain,
                             std::vector<std::byte>& out) {
    if (sealed.empty() || state_ == State::failed) return 0;
    if (records_) return receive_records(sealed, plain, out);
    if (server_) {
        heard_ += sealed.size();
        if (!ssl_ && !take_first_bytes(sealed)) return 0;
    }
    const std::size_t said_before = out.size();
    std::span<const std::byte> behind;
    const std::size_t heard = with(sealed, out, [&] {
        if (state_ == State::handshaking) shake_hands();
        behind = bytes_.in;
        std::size_t written = 0;
        while (!server_ && state_ == State::open && written < plain.size()) {
            std::size_t got = 0;
            const int returned = SSL_read_ex(ssl_.get(), plain.data() + written, plain.size() - written, &got);
            if (returned != 1) {
                went_wrong(returned);
                break;
            }
            written += got;
        }
        return written;
    });
    first_ = {};
    if (server_ && state_ == State::handshaking && heard_ > handshake_max)
        refuse(TlsFailure::broken, "the handshake is too long");
    if (!server_ || state_ != State::open) return heard;
    out.resize(said_before);
    if (!take_records(out)) {
        refuse(TlsFailure::broken, "the keys of the link cannot be taken over");
        return 0;
    }
    return receive_records(behind, plain, out);
}

// Looks at a server's first bytes before OpenSSL does, which takes 40 KB with the first of them; false until the peer's
// first message is here, and when it is refused. Then `sealed` is all that came.
bool TlsLink::take_first_bytes(std::span<const std::byte>& sealed) {
    if (!first_.empty() || sealed.size() < HelloLook::size_needed) {
        first_.insert(first_.end(), sealed.begin(), sealed.end());
        sealed = first_;
    }
    const HelloLook look = look_at_hello(sealed);
    switch (look.kind) {
        case HelloLook::Kind::too_few:
            return false;
        case HelloLook::Kind::not_tls:
            refuse(TlsFailure::not_tls, "the first bytes are no TLS");
            return false;
        case HelloLook::Kind::unreasonable:
            refuse(TlsFailure::broken, "the first message is too long, or cut up");
            return false;
        case HelloLook::Kind::good:
            if (sealed.size() >= look.whole) break;
            if (first_.empty()) first_.assign(sealed.begin(), sealed.end());
            return false;
    }
    begin_server();
    return true;
}

void TlsLink::refuse(TlsFailure why, std::string_view text) {
    state_ = State::failed;
    failure_ = why;
    failure_text_ = text;
}

// The handshake is over: from here on the keys are all that is needed. The call that ended it has said nothing but
// OpenSSL's ticket, which was taken back: ours goes out in its place.
bool TlsLink::take_records(std::vector<std::byte>& out) {
    if (SSL_has_pending(ssl_.get()) == 1) return false;
    handshake_->secrets.cipher = static_cast<std::uint32_t>(SSL_CIPHER_get_id(SSL_get_current_cipher(ssl_.get())));
    // The peer asked for short records, and OpenSSL agreed: 1 is for 512 bytes, each further number for twice as many.
    const unsigned short_records = SSL_SESSION_get_max_fragment_length(SSL_get_session(ssl_.get()));
    if (short_records >= 1 && short_records <= 4)
        handshake_->secrets.content_max = static_cast<std::uint16_t>(256U << short_records);
    records_ = TlsRecords::begin(handshake_->secrets);
    if (!records_) return false;
    if (was_resumed_) {
        peer_ = proof_of(*SSL_get_session(ssl_.get())).peer;
    } else if (const X509* shown = SSL_get0_peer_certificate(ssl_.get())) {
        peer_ = facts_of(*shown);
    }
    give_ticket(out);
    ssl_.reset();
    handshake_.reset();
    return true;
}

void TlsLink::give_ticket(std::vector<std::byte>& out) {
    const TicketStart& ticket = handshake_->ticket;
    if (ticket.secret.size == 0 || ticket.head.empty()) return;
    // Nothing gives a session that OpenSSL did not make the length that its peer asked for: it would be refused.
    if (handshake_->secrets.content_max != TlsRecords::content_max_usual) return;
    const auto message = ticket_message(*ssl_, ticket, *server_->tickets()->newest(),
                                        {peer_ ? server_->material().authorities() : std::string(), peer_});
    if (!message.empty()) records_->send_ticket(message, out);
}

std::size_t TlsLink::receive_records(std::span<const std::byte> sealed, std::span<std::byte> plain,
                                     std::vector<std::byte>& out) {
    const std::size_t heard = records_->receive(sealed, plain, out);
    switch (records_->state()) {
        case TlsRecords::State::open:
            break;
        case TlsRecords::State::ended:
            state_ = State::ended;
            break;
        case TlsRecords::State::failed:
            state_ = State::failed;
            failure_ = records_->failure();
            failure_text_ = records_->failure_text();
            ERR_clear_error();
            break;
    }
    return heard;
}

bool TlsLink::send(std::span<const std::byte> plain, std::vector<std::byte>& out) {
    if (state_ != State::open && state_ != State::ended) return false;
    if (records_) {
        records_->send(plain, out);
        return true;
    }
    return with({}, out, [&] {
        // Whole, for the BIO takes everything.
        while (!plain.empty()) {
            std::size_t taken = 0;
            const int returned = SSL_write_ex(ssl_.get(), plain.data(), plain.size(), &taken);
            if (returned != 1) {
                went_wrong(returned);
                return false;
            }
            plain = plain.subspan(taken);
        }
        return true;
    });
}

void TlsLink::close(std::vector<std::byte>& out) {
    if (state_ != State::open && state_ != State::ended) return;
    if (records_) return records_->close(out);
    with({}, out, [this] { return SSL_shutdown(ssl_.get()); });
    ERR_clear_error();
}

void TlsLink::shake_hands() {
    const int returned = SSL_do_handshake(ssl_.get());
    if (returned == 1) {
        state_ = State::open;
        was_resumed_ = SSL_session_reused(ssl_.get()) == 1;
    } else {
        went_wrong(returned);
    }
}

void TlsLink::went_wrong(int returned) {
    switch (SSL_get_error(ssl_.get(), returned)) {
        case SSL_ERROR_WANT_READ:
        case SSL_ERROR_WANT_WRITE:
            return;
        case SSL_ERROR_ZERO_RETURN:
            state_ = State::ended;
            return;
        default:
            fail(ERR_peek_error());
    }
}

void TlsLink::fail(unsigned long error) {
    const bool was_handshaking = state_ == State::handshaking;
    state_ = State::failed;
    const long verdict = SSL_get_verify_result(ssl_.get());
    // One that came back with a ticket was not verified.
    if (was_handshaking && verdict != X509_V_OK && SSL_session_reused(ssl_.get()) != 1) {
        failure_ = failure_of_verdict(verdict);
        failure_text_ = X509_verify_cert_error_string(verdict);
        ERR_clear_error();
        return;
    }
    failure_ = failure_of_error(error, was_handshaking, !server_);
    failure_text_ = take_openssl_error();
}

OpenSslHandle<SSL_SESSION> TlsLink::session() const {
    OpenSslHandle<SSL_SESSION> session(ssl_ ? SSL_get1_session(ssl_.get()) : nullptr);
    if (session && SSL_SESSION_is_resumable(session.get()) != 1) session.reset();
    return session;
}

}  // namespace muster

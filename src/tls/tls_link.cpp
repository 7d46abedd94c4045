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

namespace {

// What the handshake record of TLS begins with. A peer that speaks something else is told apart from one whose TLS is
// wrong.
bool begins_like_tls(std::span<const std::byte> first) {
    return first[0] == std::byte{0x16} && (first.size() < 2 || first[1] == std::byte{0x03});
}

// Of a certificate that was judged.
TlsFailure failure_of_verdict(long verdict) {
    switch (verdict) {
        case X509_V_ERR_CERT_HAS_EXPIRED:
            return TlsFailure::expired;
        case X509_V_ERR_CERT_NOT_YET_VALID:
            return TlsFailure::not_yet_valid;
        case X509_V_ERR_CERT_REVOKED:
            return TlsFailure::revoked;
        case X509_V_ERR_APPLICATION_VERIFICATION:
            return TlsFailure::wrong_role;
        case X509_V_ERR_HOSTNAME_MISMATCH:
        case X509_V_ERR_IP_ADDRESS_MISMATCH:
            return TlsFailure::wrong_name;
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
            return TlsFailure::self_signed;
        case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
        case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
        case X509_V_ERR_CERT_SIGNATURE_FAILURE:
            return TlsFailure::unknown_ca;
        default:
            return TlsFailure::bad_certificate;
    }
}

}  // namespace

TlsLink::TlsLink(std::shared_ptr<const TlsServerContext> context) : context_(context), server_(context.get()) {}

// Made when the peer has said something: thousands may come at once and wait for their turn.
void TlsLink::begin_server() {
    ssl_.reset(SSL_new(&server_->native()));
    if (!ssl_) throw std::bad_alloc();
    attach();
    SSL_set_accept_state(ssl_.get());
    secrets_ = std::make_unique<TlsRecords::Start>();
    hear_secrets(*ssl_, *secrets_);
}

TlsLink::TlsLink(std::shared_ptr<const TlsClientContext> context, const std::string& peer, const SSL_SESSION* session)
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
    if (!ssl_ && !begins_like_tls(sealed)) {
        state_ = State::failed;
        failure_ = TlsFailure::not_tls;
        failure_text_ = "the first bytes are no TLS";
        return 0;
    }
    if (!ssl_) begin_server();
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
    if (!server_ || state_ != State::open) return heard;
    if (!take_records(std::span<const std::byte>(out).subspan(said_before))) {
        state_ = State::failed;
        failure_text_ = "the keys of the link cannot be taken over";
        return 0;
    }
    return receive_records(behind, plain, out);
}

// The handshake is over: from here on the keys are all that is needed. `last_flight` is what the call that ended it has
// said. The peer's last message proves that it had read our own last one, so all of this is under the server's secret.
bool TlsLink::take_records(std::span<const std::byte> last_flight) {
    constexpr std::size_t header_size = 5;
    while (last_flight.size() >= header_size) {
        const std::size_t size =
            header_size + (static_cast<std::size_t>(last_flight[3]) << 8 | static_cast<std::size_t>(last_flight[4]));
        if (last_flight[0] != std::byte{SSL3_RT_APPLICATION_DATA} || size > last_flight.size()) return false;
        ++secrets_->records_sent;
        last_flight = last_flight.subspan(size);
    }
    if (!last_flight.empty() || SSL_has_pending(ssl_.get()) == 1) return false;
    secrets_->cipher = static_cast<std::uint32_t>(SSL_CIPHER_get_id(SSL_get_current_cipher(ssl_.get())));
    records_ = TlsRecords::begin(*secrets_);
    if (!records_) return false;
    if (const X509* shown = SSL_get0_peer_certificate(ssl_.get())) peer_ = facts_of(*shown);
    was_resumed_ = SSL_session_reused(ssl_.get()) == 1;
    secrets_.reset();
    ssl_.reset();
    return true;
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

bool TlsLink::has_begun() const {
    return state_ != State::handshaking || (ssl_ && SSL_in_before(ssl_.get()) != 1);
}

void TlsLink::shake_hands() {
    const int returned = SSL_do_handshake(ssl_.get());
    if (returned == 1) {
        state_ = State::open;
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
    if (was_handshaking && verdict != X509_V_OK) {
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

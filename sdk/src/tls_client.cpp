#include "sdk/src/tls_client.h"

#include <stdexcept>
#include <utility>

#include "tls/tls_context.h"
#include "tls/tls_link.h"

namespace muster::sdk {

struct TlsSettings {
    std::shared_ptr<const TlsClientContext> context;
};

std::shared_ptr<const TlsSettings> read_tls_settings(const TlsOptions& options) {
    if (options.certificate_file.empty() != options.key_file.empty())
        throw std::invalid_argument("a certificate and its key belong together");
    auto context = TlsClientContext::read({options.ca_file, options.certificate_file, options.key_file});
    if (!context) throw std::invalid_argument(context.error());
    return std::make_shared<const TlsSettings>(TlsSettings{std::move(*context)});
}

struct TlsClient::Inside {
    Inside(const std::shared_ptr<const TlsClientContext>& context, const std::string& host, const SSL_SESSION* session)
        : link(context, host, session) {}

    TlsLink link;
    std::vector<std::byte> plain;
    bool was_open = false;   // our side was content with Muster's certificate
    bool was_heard = false;  // and Muster with ours: it has said something
};

namespace {

// What we found wrong with Muster's certificate.
Outcome of_server(TlsFailure why, const std::string& details) {
    switch (why) {
        case TlsFailure::unknown_ca:
        case TlsFailure::self_signed:
            return {ErrorCode::tls_untrusted, "Muster's certificate is of an unknown authority: " + details};
        case TlsFailure::expired:
            return {ErrorCode::tls_expired, "Muster's certificate has expired"};
        case TlsFailure::not_yet_valid:
            return {ErrorCode::tls_expired, "Muster's certificate is not valid yet; compare the clocks"};
        case TlsFailure::wrong_name:
            return {ErrorCode::tls_wrong_name, "Muster's certificate is for another name: " + details};
        default:
            return {ErrorCode::tls_failed, "no TLS 1.3 there: " + details};
    }
}

// What Muster found wrong with ours, by its alert.
Outcome of_client(TlsFailure why, const std::string& details) {
    switch (why) {
        case TlsFailure::no_certificate:
            return {ErrorCode::tls_refused, "Muster wants a certificate, and none is set"};
        case TlsFailure::expired:
            return {ErrorCode::tls_refused, "Muster refuses the certificate: it has expired"};
        case TlsFailure::revoked:
            return {ErrorCode::tls_refused, "Muster refuses the certificate: it was revoked"};
        case TlsFailure::unknown_ca:
            return {ErrorCode::tls_refused, "Muster refuses the certificate: it is of another authority"};
        case TlsFailure::wrong_role:
            return {ErrorCode::tls_refused, "Muster refuses the certificate: its role is not that of this port"};
        case TlsFailure::refused_by_peer:
            return {ErrorCode::tls_refused, "Muster refuses the certificate: " + details};
        default:
            return {ErrorCode::tls_failed, "TLS failed: " + details};
    }
}

}  // namespace

TlsClient::TlsClient(const std::shared_ptr<const TlsSettings>& settings, const std::string& host,
                     const TlsClient* before) {
    const auto session = before ? before->inside_->link.session() : nullptr;
    inside_ = std::make_unique<Inside>(settings->context, host, session.get());
}

TlsClient::~TlsClient() = default;

TlsClient::State TlsClient::state() const {
    switch (inside_->link.state()) {
        case TlsLink::State::handshaking:
            return State::handshaking;
        case TlsLink::State::open:
            return State::open;
        case TlsLink::State::ended:
            return State::ended;
        case TlsLink::State::failed:
            break;
    }
    return State::failed;
}

void TlsClient::begin(std::vector<std::byte>& out) {
    inside_->link.begin(out);
}

std::span<const std::byte> TlsClient::receive(std::span<const std::byte> sealed, std::vector<std::byte>& out) {
    inside_->plain.resize(sealed.size() + TlsLink::plain_extra);
    const std::size_t size = inside_->link.receive(sealed, inside_->plain, out);
    inside_->was_open = inside_->was_open || state() == State::open;
    inside_->was_heard = inside_->was_heard || size > 0;
    return std::span(inside_->plain).first(size);
}

bool TlsClient::send(std::span<const std::byte> plain, std::vector<std::byte>& out) {
    return inside_->link.send(plain, out);
}

void TlsClient::close(std::vector<std::byte>& out) {
    inside_->link.close(out);
}

// With TLS 1.3 the server judges the client's certificate after the client's handshake is over.
Outcome TlsClient::failure() const {
    const TlsLink& link = inside_->link;
    if (!inside_->was_open) return of_server(link.failure(), link.failure_text());
    if (!inside_->was_heard) return of_client(link.failure(), link.failure_text());
    return {ErrorCode::tls_failed, "TLS failed: " + link.failure_text()};
}

}  // namespace muster::sdk

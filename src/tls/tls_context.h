// What links with TLS are made from: our certificate and key, and whom we trust. TLS 1.3 only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tls/certificate.h"
#include "tls/openssl_handle.h"
#include "tls/peer_role.h"
#include "tls/ticket_keys.h"
#include "tls/tls_ticket.h"

namespace muster {

// Files of PEM; one that is empty is not used.
struct TlsFiles {
    std::string certificate;
    std::string key;
    std::string client_ca;  // whose certificates peers must have (S-2)
    std::string revoked;    // serial numbers of certificates that are refused, one a line; # begins a comment

    friend bool operator==(const TlsFiles&, const TlsFiles&) = default;
};

// What the files hold, read at one moment. A plain value to copy by its pointer; never changed.
class TlsMaterial {
public:
    // Fails with a sentence that names the key of the config and the file: those of `port`, where it has its own.
    static Result<std::shared_ptr<const TlsMaterial>, std::string> read(const TlsFiles& files,
                                                                        std::string_view port = {});

    const CertificateFacts& certificate() const { return facts_; }
    bool wants_peers() const { return authorities_.leaf != nullptr; }
    // Of the authorities of peers the one that is valid longest; only where peers are wanted.
    const CertificateFacts& authority() const { return authority_facts_; }
    // When the certificate, or the authority of peers, expires, whichever does first. In seconds since 1970.
    std::int64_t expires() const;
    // What an operator should know of the dates now; empty when there is nothing.
    std::string warning_of_dates(std::int64_t now) const;
    // Why this must not replace `used`: it is no better. Empty when it may. What is used already replaces nothing,
    // whatever its dates.
    std::string problem_in_place_of(const TlsMaterial* used, std::int64_t now) const;
    // That others can read the key; empty when they cannot.
    const std::string& key_warning() const { return key_warning_; }
    bool is_revoked(const std::string& serial) const { return revoked_.contains(serial); }
    std::size_t revoked_count() const { return revoked_.size(); }
    // What is another in `next`, in words for the log; empty when nothing is.
    std::vector<std::string> changes_to(const TlsMaterial& next) const;
    std::optional<std::string> certificate_change_to(const TlsMaterial& next) const;
    // The config's key of the certificate.
    std::string certificate_key() const { return prefix_ + "certificate_file"; }
    // Tells the authorities of peers from others, whatever is in them; empty when there are none.
    const std::string& authorities() const { return authorities_print_; }

private:
    friend class TlsServerContext;

    std::string prefix_;  // of the config's keys, up to their own names
    CertificateChain chain_;
    CertificateFacts facts_;
    OpenSslHandle<EVP_PKEY> key_;
    std::string key_warning_;
    CertificateChain authorities_;
    CertificateFacts authority_facts_;
    std::string authorities_print_;
    std::set<std::string> revoked_;
};

// One port of a server. Any thread; links of any thread are made from it. A changed certificate is a new context.
class TlsServerContext {
public:
    // Where the material names an authority: with a role each peer must show a certificate of that role; as `optional`
    // it may show one of any role, or none. With `tickets` the peers of TlsLinks get tickets, which any context of the
    // same port and the same keys takes. Fails with a sentence.
    enum class Proof : std::uint8_t { needed, optional };
    static Result<std::shared_ptr<const TlsServerContext>, std::string> make(
        std::shared_ptr<const TlsMaterial> material, std::string_view port, std::optional<PeerRole> role,
        Proof proof = Proof::needed, std::shared_ptr<TicketKeys> tickets = nullptr);

    const TlsMaterial& material() const { return *material_; }
    SSL_CTX& native() const { return *context_; }

    // That `link` was made from.
    static const TlsServerContext& of(const SSL& link);

    // Null: none are given.
    const TicketKeys* tickets() const { return tickets_.get(); }

    // For OpenSSL's callbacks: whether a certificate that is good otherwise is good here. 0, or an X509_V_ERR_….
    int judge(const CertificateFacts& peer) const;
    // The same of what a ticket proves, by what is known now.
    bool admits(const TicketProof& proof) const;

private:
    TlsServerContext() = default;

    std::shared_ptr<const TlsMaterial> material_;
    std::optional<PeerRole> role_;
    Proof proof_ = Proof::needed;
    std::shared_ptr<TicketKeys> tickets_;
    OpenSslHandle<SSL_CTX> context_;
};

// Whom a client trusts, and what it shows. Empty files: the machine's own authorities; no certificate.
struct TlsClientFiles {
    std::string ca;
    std::string certificate;
    std::string key;
};

class TlsClientContext {
public:
    // Fails with a sentence that names the file.
    static Result<std::shared_ptr<const TlsClientContext>, std::string> read(const TlsClientFiles& files);

    SSL_CTX& native() const { return *context_; }

private:
    TlsClientContext() = default;

    OpenSslHandle<SSL_CTX> context_;
};

}  // namespace muster

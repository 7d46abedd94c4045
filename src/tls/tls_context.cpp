#include "tls/tls_context.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <new>
#include <utility>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include "tls/tls_records.h"

namespace muster {
namespace {

using Text = Failure<std::string>;

// How long a peer of HTTP may come back without a full handshake.
constexpr long resumption_seconds = 3'600;
// What a peer's certificates may take together.
constexpr long certificates_max = 32 * 1024;
// How keys are agreed on. Others cost the server up to a hundred times as much, and the peer chooses.
constexpr const char* groups = "X25519:P-256";
// The server's choice, the cheapest first: machines compute SHA-256 and AES-128 faster. A peer without AES in its
// processor names ChaCha20 first, and gets it.
constexpr const char* suites = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";

Result<std::set<std::string>, std::string> read_revoked(const std::string& path) {
    auto bytes = read_small_file(path);
    if (!bytes) return Text(std::move(bytes.error()));
    std::set<std::string> serials;
    std::size_t number = 0;
    for (std::string_view rest = *bytes; !rest.empty();) {
        ++number;
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        std::string_view line = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        line = line.substr(0, line.find('#'));
        while (!line.empty() && (line.back() == ' ' || line.back() == '\t' || line.back() == '\r'))
            line.remove_suffix(1);
        while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
        if (line.empty()) continue;
        const auto serial = parse_serial(line);
        if (!serial)
            return Text(path + ", line " + std::to_string(number) +
                        ": a serial number is wanted, in hexadecimal digits as `muster certs show` prints it");
        serials.insert(*serial);
    }
    return serials;
}

// Tells two certificates apart, whatever they say.
std::string fingerprint_of(const X509& certificate) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
    unsigned int size = 0;
    X509_digest(&certificate, EVP_sha256(), bytes.data(), &size);
    return {reinterpret_cast<const char*>(bytes.data()), size};
}

OpenSslHandle<SSL_CTX> new_context(const SSL_METHOD* method) {
    OpenSslHandle<SSL_CTX> context(SSL_CTX_new(method));
    if (!context) throw std::bad_alloc();
    SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION);
    SSL_CTX_set_options(context.get(), SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
    // An idle link holds no buffers; a write may be asked for again from elsewhere in memory. What is shown is what the
    // file holds: the authority's own certificate, which the other side has, would only cost it time to read.
    SSL_CTX_set_mode(context.get(),
                     SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_NO_AUTO_CHAIN);
    return context;
}

bool use_own(SSL_CTX* context, const CertificateChain& chain, EVP_PKEY* key) {
    if (SSL_CTX_use_certificate(context, chain.leaf.get()) != 1) return false;
    for (const auto& other : chain.others) {
        if (SSL_CTX_add1_chain_cert(context, other.get()) != 1) return false;
    }
    return SSL_CTX_use_PrivateKey(context, key) == 1;
}

// OpenSSL, which calls this, is C: nothing may be thrown through it.
int judged(const TlsServerContext& context, const X509& peer) noexcept {
    try {
        return context.judge(facts_of(peer));
    } catch (...) {
        return X509_V_ERR_OUT_OF_MEM;
    }
}

// Of each certificate in a peer's chain, from its authority down; the last one is its own.
int judge_peer(int good, X509_STORE_CTX* chain) {
    if (good != 1 || X509_STORE_CTX_get_error_depth(chain) != 0) return good;
    const auto* link = static_cast<const SSL*>(X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx()));
    const int wrong = judged(TlsServerContext::of(*link), *X509_STORE_CTX_get_current_cert(chain));
    if (wrong == X509_V_OK) return 1;
    X509_STORE_CTX_set_error(chain, wrong);
    return 0;
}

// Whether a port for `wanted` takes a certificate that shows `shown`. An agent speaks for game servers.
bool is_admitted(PeerRole wanted, std::optional<PeerRole> shown) {
    return shown == wanted || (wanted == PeerRole::server && shown == PeerRole::agent);
}

}  // namespace

Result<std::shared_ptr<const TlsMaterial>, std::string> TlsMaterial::read(const TlsFiles& files,
                                                                          std::string_view port) {
    const auto material = std::make_shared<TlsMaterial>();
    material->prefix_ = port.empty() ? "tls." : "tls." + std::string(port) + "_";
    const std::string& prefix = material->prefix_;
    auto chain = read_certificates(files.certificate);
    if (!chain) return Text(material->certificate_key() + ": " + chain.error());
    auto key = read_key(files.key);
    if (!key) return Text(prefix + "key_file: " + key.error());
    if (X509_check_private_key(chain->leaf.get(), key->get()) != 1) {
        ERR_clear_error();
        return Text(prefix + "key_file: " + files.key + " does not belong to the certificate in " + files.certificate);
    }
    if (X509_check_purpose(chain->leaf.get(), X509_PURPOSE_SSL_SERVER, 0) != 1)
        return Text(
            material->certificate_key() + ": the certificate in " + files.certificate +
            " is for clients only: every peer would refuse it. A server's has the extended key usage serverAuth");
    material->chain_ = std::move(*chain);
    material->key_ = std::move(*key);
    material->facts_ = facts_of(*material->chain_.leaf);
    if (std::string warning = warning_of_key_mode(files.key); !warning.empty())
        material->key_warning_ = prefix + "key_file: " + warning;
    if (!files.client_ca.empty()) {
        auto authorities = read_certificates(files.client_ca);
        if (!authorities) return Text("tls.client_ca_file: " + authorities.error());
        if (X509_check_ca(authorities->leaf.get()) != 1)
            return Text("tls.client_ca_file: " + files.client_ca + " holds a certificate that may not sign others");
        material->authorities_ = std::move(*authorities);
        material->authority_facts_ = facts_of(*material->authorities_.leaf);
        material->authorities_print_ = fingerprint_of(*material->authorities_.leaf);
        for (const auto& other : material->authorities_.others) {
            material->authorities_print_ += fingerprint_of(*other);
            CertificateFacts facts = facts_of(*other);
            if (facts.not_after > material->authority_facts_.not_after) material->authority_facts_ = std::move(facts);
        }
    }
    if (!files.revoked.empty()) {
        auto revoked = read_revoked(files.revoked);
        if (!revoked) return Text("tls.revoked_file: " + revoked.error());
        material->revoked_ = std::move(*revoked);
    }
    return std::shared_ptr<const TlsMaterial>(material);
}

std::int64_t TlsMaterial::expires() const {
    return wants_peers() ? std::min(facts_.not_after, authority_facts_.not_after) : facts_.not_after;
}

std::optional<std::string> TlsMaterial::certificate_change_to(const TlsMaterial& next) const {
    if (fingerprint_of(*chain_.leaf) == fingerprint_of(*next.chain_.leaf)) return std::nullopt;
    return next.certificate_key() + ": certificate " + facts_.serial + " -> " + next.facts_.serial +
           "; new connections get it";
}

std::vector<std::string> TlsMaterial::changes_to(const TlsMaterial& next) const {
    std::vector<std::string> changes;
    if (auto change = certificate_change_to(next)) changes.push_back(std::move(*change));
    if (authorities_print_ != next.authorities_print_)
        changes.emplace_back("tls.client_ca_file: other authorities; new connections are judged by them");
    if (revoked_ != next.revoked_)
        changes.push_back("tls.revoked_file: " + std::to_string(revoked_.size()) + " -> " +
                          std::to_string(next.revoked_.size()) + " revoked certificates");
    return changes;
}

Result<std::shared_ptr<const TlsServerContext>, std::string> TlsServerContext::make(
    std::shared_ptr<const TlsMaterial> material, std::string_view port, std::optional<PeerRole> role, Proof proof,
    std::shared_ptr<TicketKeys> tickets) {
    const std::shared_ptr<TlsServerContext> made(new TlsServerContext);
    made->material_ = std::move(material);
    made->role_ = role;
    made->proof_ = proof;
    made->tickets_ = std::move(tickets);
    made->context_ = new_context(TLS_server_method());
    SSL_CTX* context = made->context_.get();
    if (!use_own(context, made->material_->chain_, made->material_->key_.get()))
        return Text(made->material_->certificate_key() + " cannot be used: " + take_openssl_error());

    SSL_CTX_set_app_data(context, made.get());
    tell_secrets(*context);
    SSL_CTX_set_max_cert_list(context, certificates_max);
    SSL_CTX_set_options(context, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
    if (SSL_CTX_set1_groups_list(context, groups) != 1 || SSL_CTX_set_ciphersuites(context, suites) != 1)
        return Text("TLS cannot be set up: " + take_openssl_error());
    // Tickets need no memory here; the peer keeps them. A session of one port is worth nothing at another. OpenSSL's
    // own, which HTTP has, are not for peers with certificates: to read one back costs more than a handshake.
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_session_id_context(context, reinterpret_cast<const unsigned char*>(port.data()),
                                   static_cast<unsigned int>(port.size()));
    SSL_CTX_set_timeout(context, resumption_seconds);
    const bool wants_peers = made->role_ && made->material_->wants_peers();
    SSL_CTX_set_num_tickets(context, wants_peers ? 0 : 1);
    if (made->tickets_) use_tickets(*context);
    if (wants_peers) {
        SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
        const CertificateChain& authorities = made->material_->authorities_;
        X509_STORE* trusted = SSL_CTX_get_cert_store(context);
        X509_STORE_add_cert(trusted, authorities.leaf.get());
        for (const auto& other : authorities.others) X509_STORE_add_cert(trusted, other.get());
        SSL_CTX_add_client_CA(context, authorities.leaf.get());
        SSL_CTX_set_verify(context,
                           proof == Proof::needed ? SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT : SSL_VERIFY_PEER,
                           judge_peer);
    }
    return std::shared_ptr<const TlsServerContext>(made);
}

const TlsServerContext& TlsServerContext::of(const SSL& link) {
    return *static_cast<const TlsServerContext*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(&link)));
}

int TlsServerContext::judge(const CertificateFacts& peer) const {
    if (material_->is_revoked(peer.serial)) return X509_V_ERR_CERT_REVOKED;
    if (!role_ || proof_ == Proof::optional) return X509_V_OK;
    if (!is_admitted(*role_, peer.role())) return X509_V_ERR_APPLICATION_VERIFICATION;
    // Who has no name could take over nothing, and everything of others without one.
    if (peer.name.empty()) return X509_V_ERR_SUBJECT_NAME_EMPTY;
    return X509_V_OK;
}

// Without a certificate a ticket proves that its peer was here before, where that is all that is wanted. With other
// authorities than now it proves nothing.
bool TlsServerContext::admits(const TicketProof& proof) const {
    const bool wants_peers = role_ && material_->wants_peers();
    if (!wants_peers) return !proof.peer;
    return proof.peer && proof.authorities == material_->authorities() && proof.peer->not_after >= std::time(nullptr) &&
           judge(*proof.peer) == X509_V_OK;
}

Result<std::shared_ptr<const TlsClientContext>, std::string> TlsClientContext::read(const TlsClientFiles& files) {
    const std::shared_ptr<TlsClientContext> made(new TlsClientContext);
    made->context_ = new_context(TLS_client_method());
    SSL_CTX* context = made->context_.get();
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
    if (files.ca.empty()) {
        SSL_CTX_set_default_verify_paths(context);
    } else {
        auto authorities = read_certificates(files.ca);
        if (!authorities) return Text(std::move(authorities.error()));
        X509_STORE* trusted = SSL_CTX_get_cert_store(context);
        X509_STORE_add_cert(trusted, authorities->leaf.get());
        for (const auto& other : authorities->others) X509_STORE_add_cert(trusted, other.get());
    }
    if (!files.certificate.empty()) {
        auto chain = read_certificates(files.certificate);
        if (!chain) return Text(std::move(chain.error()));
        auto key = read_key(files.key);
        if (!key) return Text(std::move(key.error()));
        if (!use_own(context, *chain, key->get()) || SSL_CTX_check_private_key(context) != 1) {
            ERR_clear_error();
            return Text(files.key + " does not belong to the certificate in " + files.certificate);
        }
    }
    return std::shared_ptr<const TlsClientContext>(made);
}

}  // namespace muster

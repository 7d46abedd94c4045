#include "daemon/tls_ports.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "tls/certificate.h"

namespace muster {
namespace {

constexpr std::int64_t day_seconds = 86'400;
constexpr std::int64_t warn_days = 14;

std::optional<PeerRole> role_at(Port port) {
    switch (port) {
        case Port::servers:
            return PeerRole::server;
        case Port::matchmakers:
            return PeerRole::matchmaker;
        case Port::players:
            break;
    }
    return std::nullopt;  // players have credentials
}

// What the operator of the peer, or ours, has to do.
std::string_view explained(TlsFailure why) {
    switch (why) {
        case TlsFailure::not_tls:
            return "it speaks without TLS, and the port wants it (tls.ports)";
        case TlsFailure::unexpected_tls:
            return "it speaks TLS, and the port has none (tls.ports)";
        case TlsFailure::version:
            return "it does not speak TLS 1.3";
        case TlsFailure::no_certificate:
            return "it shows no certificate (tls.client_ca_file wants one)";
        case TlsFailure::expired:
            return "its certificate has expired";
        case TlsFailure::not_yet_valid:
            return "its certificate is not valid yet; compare the clocks";
        case TlsFailure::unknown_ca:
            return "its certificate is of another authority than tls.client_ca_file";
        case TlsFailure::self_signed:
            return "its certificate is signed by itself";
        case TlsFailure::wrong_role:
            return "the OU of its certificate is not the role of this port";
        case TlsFailure::wrong_name:
            return "its certificate is for another name";
        case TlsFailure::revoked:
            return "its certificate is revoked (tls.revoked_file)";
        case TlsFailure::bad_certificate:
            return "its certificate is not good";
        case TlsFailure::refused_by_peer:
            return "it does not accept our certificate";
        case TlsFailure::incomplete:
            return "it left during the TLS handshake";
        case TlsFailure::timed_out:
            return "its TLS handshake took too long";
        case TlsFailure::broken:
            return "its TLS is broken";
    }
    return "";
}

}  // namespace

double TlsPorts::seconds_left(UnixMs now) const {
    return static_cast<double>(material->certificate().not_after) - static_cast<double>(now.value) / 1'000;
}

Result<TlsPorts, std::string> read_tls_ports(const Config& config) {
    TlsPorts tls;
    if (config.tls.ports.empty()) return tls;
    auto material = TlsMaterial::read(
        {config.tls.certificate_file, config.tls.key_file, config.tls.client_ca_file, config.tls.revoked_file});
    if (!material) return Failure<std::string>(std::move(material.error()));
    tls.material = std::move(*material);
    for (const Port port : ports) {
        if (!config.tls.at(to_string(port))) continue;
        auto context = TlsServerContext::make(tls.material, to_string(port), role_at(port));
        if (!context) return Failure<std::string>(std::move(context.error()));
        tls.game[static_cast<std::size_t>(port)] = std::move(*context);
    }
    if (config.tls.at("http")) {
        auto context =
            TlsServerContext::make(tls.material, "http", PeerRole::operator_, TlsServerContext::Proof::optional);
        if (!context) return Failure<std::string>(std::move(context.error()));
        tls.http = std::move(*context);
    }
    if (config.tls.at("nodes")) {
        auto context = TlsServerContext::make(tls.material, "nodes", PeerRole::node);
        if (!context) return Failure<std::string>(std::move(context.error()));
        tls.nodes = std::move(*context);
        auto client =
            TlsClientContext::read({config.tls.client_ca_file, config.tls.certificate_file, config.tls.key_file});
        if (!client) return Failure<std::string>(std::move(client.error()));
        tls.to_nodes = std::move(*client);
    }
    return tls;
}

std::string problem_of_new_certificate(const TlsPorts& next, UnixMs now) {
    if (!next.material) return {};
    const std::int64_t seconds = now.value / 1'000;
    const CertificateFacts& facts = next.material->certificate();
    if (facts.not_after < seconds) return "tls.certificate_file: the certificate has expired";
    if (facts.not_before > seconds) return "tls.certificate_file: the certificate is not valid yet";
    return {};
}

std::string warning_of_certificate(const TlsPorts& tls, UnixMs now) {
    if (!tls.material) return {};
    if (tls.material->certificate().not_before > now.value / 1'000)
        return "The TLS certificate is not valid yet; peers refuse it";
    const auto left = static_cast<std::int64_t>(tls.seconds_left(now));
    if (left < 0) return "The TLS certificate has expired; peers refuse it";
    if (left < warn_days * day_seconds)
        return fmt::format("The TLS certificate expires in {} days", left / day_seconds);
    return {};
}

void log_insecure_peer(Log& log, const InsecurePeer& peer) {
    // Probes and scanners come and go: they are counted, and not worth a line.
    const LogLevel level = peer.why == TlsFailure::incomplete ? LogLevel::debug : LogLevel::warning;
    log.with(level, {{"port", to_string(peer.port)}, {"reason", to_string(peer.why)}, {"details", peer.details}},
             "Refused {}: {}", peer.from.to_string(), explained(peer.why));
}

}  // namespace muster

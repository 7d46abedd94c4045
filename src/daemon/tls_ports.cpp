#include "daemon/tls_ports.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace muster {
namespace {

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

std::vector<std::shared_ptr<const TlsMaterial>> TlsPorts::materials() const {
    std::vector<std::shared_ptr<const TlsMaterial>> all{material, own[0], own[1], own[2], own_http};
    std::erase(all, nullptr);
    return all;
}

std::int64_t TlsPorts::expires() const {
    std::int64_t first = material->expires();
    for (const auto& one : materials()) first = std::min(first, one->expires());
    return first;
}

std::vector<std::string> TlsPorts::changes_to(const TlsPorts& next) const {
    std::vector<std::string> changes = material->changes_to(*next.material);
    const auto compare = [&](const auto& before, const auto& after) {
        if (!before && !after) return;
        if (auto change = (before ? before : material)->certificate_change_to(after ? *after : *next.material))
            changes.push_back(std::move(*change));
    };
    for (std::size_t i = 0; i < own.size(); ++i) compare(own[i], next.own[i]);
    compare(own_http, next.own_http);
    return changes;
}

Result<TlsPorts, std::string> read_tls_ports(const Config& config, const std::shared_ptr<TicketKeys>& tickets) {
    TlsPorts tls;
    if (config.tls.ports.empty()) return tls;
    const auto read = [&](const std::string& certificate, const std::string& key, std::string_view port) {
        return TlsMaterial::read({certificate, key, config.tls.client_ca_file, config.tls.revoked_file}, port);
    };
    auto material = read(config.tls.certificate_file, config.tls.key_file, {});
    if (!material) return Failure<std::string>(std::move(material.error()));
    tls.material = std::move(*material);
    for (const auto& [name, files] : config.tls.own()) {
        if (files.certificate_file.empty() || !config.tls.at(name)) continue;
        auto own = read(files.certificate_file, files.key_file, name);
        if (!own) return Failure<std::string>(std::move(own.error()));
        const auto* game =
            std::find_if(ports.begin(), ports.end(), [&, name = name](Port port) { return to_string(port) == name; });
        (game == ports.end() ? tls.own_http : tls.own[static_cast<std::size_t>(*game)]) = std::move(*own);
    }
    for (const Port port : ports) {
        if (!config.tls.at(to_string(port))) continue;
        const auto& own = tls.own[static_cast<std::size_t>(port)];
        auto context = TlsServerContext::make(own ? own : tls.material, to_string(port), role_at(port),
                                              TlsServerContext::Proof::needed, tickets);
        if (!context) return Failure<std::string>(std::move(context.error()));
        tls.game[static_cast<std::size_t>(port)] = std::move(*context);
    }
    if (config.tls.at("http")) {
        auto context = TlsServerContext::make(tls.own_http ? tls.own_http : tls.material, "http", PeerRole::operator_,
                                              TlsServerContext::Proof::optional);
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

std::string problem_of_new_certificate(const TlsPorts& used, const TlsPorts& next, UnixMs now) {
    const std::int64_t seconds = now.value / 1'000;
    const auto all_used = used.materials();
    for (const auto& material : next.materials()) {
        const auto same_key = [&](const auto& one) { return one->certificate_key() == material->certificate_key(); };
        const auto before = std::find_if(all_used.begin(), all_used.end(), same_key);
        // One that is new has the authorities of all.
        const auto& used_so_far = before == all_used.end() ? used.material : *before;
        std::string problem = material->problem_in_place_of(used_so_far.get(), seconds);
        if (!problem.empty()) return problem;
    }
    return {};
}

std::string warning_of_certificate(const TlsPorts& tls, UnixMs now) {
    const std::int64_t seconds = now.value / 1'000;
    for (const auto& material : tls.materials()) {
        std::string warning = material->warning_of_dates(seconds);
        if (!warning.empty()) return warning;
    }
    return {};
}

std::vector<std::string> warnings_of_keys(const TlsPorts& tls) {
    std::vector<std::string> warnings;
    for (const auto& material : tls.materials()) {
        if (!material->key_warning().empty()) warnings.push_back(material->key_warning());
    }
    return warnings;
}

void log_insecure_peer(Log& log, const InsecurePeer& peer) {
    // Probes and scanners come and go: they are counted, and not worth a line.
    const LogLevel level = peer.why == TlsFailure::incomplete ? LogLevel::debug : LogLevel::warning;
    log.with(level,
             {{"peer", peer.from.to_string()},
              {"port", to_string(peer.port)},
              {"reason", to_string(peer.why)},
              {"details", peer.details}},
             "Refused a peer: {}", explained(peer.why));
}

}  // namespace muster

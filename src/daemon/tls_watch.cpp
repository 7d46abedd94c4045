#include "daemon/tls_watch.h"

#include <chrono>
#include <utility>

namespace muster {

using namespace std::chrono_literals;

void TlsWatch::read(const Config& config) {
    if (!config.tls.ports.empty() && !tickets_.keys()) warn_of_tickets(tickets_.open(wall_seconds()));
    auto read = read_tls_ports(config, tickets_.keys());
    if (!read) throw TlsError(read.error());
    ports_ = std::move(*read);
    if (!ports_.material) return;
    warn();
    publish();
    for (const auto& material : ports_.materials()) {
        const CertificateFacts& facts = material->certificate();
        log_.with(LogLevel::info,
                  {{"serial", facts.serial}, {"days_left", (facts.not_after - wall_seconds()) / 86'400}},
                  "TLS certificate of {}", facts.name);
    }
}

void TlsWatch::look() {
    health_.set_certificate_warning(warning_of_certificate(ports_, clock_.wall()));
    if (clock_.now() - looked_at_ >= 24h) warn_of_certificate();
    if (tickets_.keys()) warn_of_tickets(tickets_.renew(wall_seconds()));
}

std::optional<std::string> TlsWatch::problem_at_start(const Config& config) const {
    auto read = read_tls_ports(config, tickets_.keys());
    if (!read) return read.error();
    return std::nullopt;
}

std::optional<std::string> TlsWatch::take_new(const Config& config, std::vector<std::string>& changes) {
    auto read = read_tls_ports(config, tickets_.keys());
    if (!read) return read.error();
    std::string problem = problem_of_new_certificate(ports_, *read, clock_.wall());
    if (!problem.empty()) return problem;
    if (!read->material) return std::nullopt;
    changes = ports_.changes_to(*read);
    ports_ = std::move(*read);
    publish();
    warn();
    return std::nullopt;
}

Metric TlsWatch::expiry() const {
    Metric expiry{"muster_certificate_expiry_seconds",
                  "Time until the first of the TLS certificates expires; negative afterwards",
                  MetricType::gauge,
                  {},
                  {}};
    const std::int64_t expires = expires_.load(std::memory_order_relaxed);
    const double now = static_cast<double>(clock_.wall().value) / 1'000;
    if (expires != 0) expiry.samples.push_back({{}, static_cast<double>(expires) - now});
    return expiry;
}

// Of what was just read.
void TlsWatch::warn() {
    warn_of_certificate();
    for (const std::string& warning : warnings_of_keys(ports_)) log_.warning("{}", warning);
}

// And once a day.
void TlsWatch::warn_of_certificate() {
    looked_at_ = clock_.now();
    const std::string warning = warning_of_certificate(ports_, clock_.wall());
    if (!warning.empty()) log_.warning("{}", warning);
    health_.set_certificate_warning(warning);
}

void TlsWatch::warn_of_tickets(const std::string& warning) {
    if (!warning.empty()) log_.warning("{}", warning);
}

}  // namespace muster

// Certificates for a daemon under load and for its peers, made on the spot.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "tls/tls_context.h"

namespace muster::bench {

// A certificate authority in `folder`/pki, with one certificate for all game servers and one for all matchmakers.
// Throws std::runtime_error when they cannot be made.
class LoadCertificates {
public:
    explicit LoadCertificates(const std::filesystem::path& folder);

    // Adds what makes a daemon speak mutual TLS with them on its server and matchmaker ports.
    void add_to(std::map<std::string, std::string>& environment) const;

    std::shared_ptr<const TlsClientContext> game_server() const { return game_server_; }
    std::shared_ptr<const TlsClientContext> matchmaker() const { return matchmaker_; }
    std::string certificate() const { return pki_ + "/muster.crt"; }
    std::string key() const { return pki_ + "/muster.key"; }
    std::string authority() const { return pki_ + "/ca.crt"; }

private:
    std::string pki_;
    std::shared_ptr<const TlsClientContext> game_server_;
    std::shared_ptr<const TlsClientContext> matchmaker_;
};

}  // namespace muster::bench

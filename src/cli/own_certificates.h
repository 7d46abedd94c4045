// Certificates for a daemon that a command starts for itself (`--tls`).
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace muster {

struct OwnCertificates {
    std::map<std::string, std::string> daemon;  // its environment: TLS on all ports
    std::string ca_file;                        // whom its peers trust
};

// Those in the folder; an authority and the daemon's certificate are made there when they are missing. Throws
// CommandFailure.
OwnCertificates own_certificates(const std::filesystem::path& folder);

}  // namespace muster

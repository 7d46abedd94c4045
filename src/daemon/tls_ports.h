// The ports' TLS as the config wants it, and what the log says of peers that have none.
#pragma once

#include <array>
#include <memory>
#include <stdexcept>
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "base/time.h"
#include "config/config.h"
#include "net/insecure_peer.h"
#include "protocol/port.h"
#include "tls/tls_context.h"

namespace muster {

// The files of the config cannot be used: exit 78 at the start.
class TlsError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// What was read from the files at one moment. Null for ports without TLS.
struct TlsPorts {
    std::shared_ptr<const TlsMaterial> material;
    std::array<std::shared_ptr<const TlsServerContext>, ports.size()> game;
    std::shared_ptr<const TlsServerContext> http;
    std::shared_ptr<const TlsServerContext> nodes;
    std::shared_ptr<const TlsClientContext> to_nodes;

    const std::shared_ptr<const TlsServerContext>& of(Port port) const { return game[static_cast<std::size_t>(port)]; }
    // Until our certificate expires; negative afterwards. Only where there is one.
    double seconds_left(UnixMs now) const;
};

// Reads the files; nothing is read when no port has TLS. Fails with a sentence that names the key.
Result<TlsPorts, std::string> read_tls_ports(const Config& config);

// Why a new certificate must not replace the one that is used: it is no better. Empty when it may.
std::string problem_of_new_certificate(const TlsPorts& next, UnixMs now);

// What an operator should know of the certificate now; empty when there is nothing.
std::string warning_of_certificate(const TlsPorts& tls, UnixMs now);

// A peer without TLS, or with another than ours: who, where, and what to do about it.
void log_insecure_peer(Log& log, const InsecurePeer& peer);

}  // namespace muster

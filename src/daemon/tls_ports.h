// The ports' TLS as the config wants it, and what the log says of peers that have none.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "base/time.h"
#include "config/config.h"
#include "net/insecure_peer.h"
#include "protocol/port.h"
#include "tls/ticket_keys.h"
#include "tls/tls_context.h"

namespace muster {

// The files of the config cannot be used: exit 78 at the start.
class TlsError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// What was read from the files at one moment. Null for ports without TLS.
struct TlsPorts {
    std::shared_ptr<const TlsMaterial> material;  // of all ports that have none of their own
    std::array<std::shared_ptr<const TlsMaterial>, ports.size()> own;
    std::shared_ptr<const TlsMaterial> own_http;
    std::array<std::shared_ptr<const TlsServerContext>, ports.size()> game;
    std::shared_ptr<const TlsServerContext> http;
    std::shared_ptr<const TlsServerContext> nodes;
    std::shared_ptr<const TlsClientContext> to_nodes;

    const std::shared_ptr<const TlsServerContext>& of(Port port) const { return game[static_cast<std::size_t>(port)]; }
    // Our certificates, that of all first; none where no port has TLS.
    std::vector<std::shared_ptr<const TlsMaterial>> materials() const;
    // Of the one that expires first, the authority of peers among them, in seconds since 1970. Only where there is one.
    std::int64_t expires() const;
    // What is another in `next`, in words for the log. Both have TLS.
    std::vector<std::string> changes_to(const TlsPorts& next) const;
};

// Reads the files; nothing is read when no port has TLS. Peers of the game ports get tickets of these keys. Fails with
// a sentence that names the key.
Result<TlsPorts, std::string> read_tls_ports(const Config& config, const std::shared_ptr<TicketKeys>& tickets);

// Why a new certificate must not replace the one that is used: it is no better. Empty when it may. One that is used
// already replaces nothing, whatever its dates: what else is new counts.
std::string problem_of_new_certificate(const TlsPorts& used, const TlsPorts& next, UnixMs now);

// What an operator should know of the certificate now; empty when there is nothing.
std::string warning_of_certificate(const TlsPorts& tls, UnixMs now);

// Keys that others than their owner can read.
std::vector<std::string> warnings_of_keys(const TlsPorts& tls);

// A peer without TLS, or with another than ours: who, where, and what to do about it.
void log_insecure_peer(Log& log, const InsecurePeer& peer);

}  // namespace muster

// The agent's TLS to Muster: what it shows and whom it trusts, renewed while links are up (S-1, S-2, S-3).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "muster/client.h"
#include "muster/tcp_runner.h"
#include "muster/tls_credentials.h"
#include "tls/certificate.h"

namespace muster {

// The agent's thread only.
class AgentTls {
public:
    // Reads the files, if an address of `join` wants TLS ("muster-tls://…"). Fails with a sentence that names the
    // variable and the file.
    static Result<AgentTls, std::string> read(const std::vector<std::string>& join, sdk::TlsOptions files);

    // Reads the same files again, for connections to come. Says what is new, for the log. Fails with a sentence; then
    // what was read before stays in force.
    Result<std::vector<std::string>, std::string> reload(UnixMs now);

    // Adds a client at one of `join`.
    void add(sdk::TcpRunner& runner, sdk::Client& client, std::string_view address) const;

    // What an operator should know of the certificate now; empty when there is nothing.
    std::string warning(UnixMs now) const;
    // That others can read the key; empty when they cannot.
    std::string key_warning() const;
    // Seconds since 1970; none without a certificate.
    std::optional<std::int64_t> expires() const;

private:
    // What the files hold.
    struct Content {
        std::optional<CertificateFacts> certificate{};
        std::string authorities{};  // the whole file
    };
    static Result<Content, std::string> look_at(const sdk::TlsOptions& files);

    sdk::TlsOptions files_;
    Content content_;
    std::optional<sdk::TlsCredentials> credentials_{};  // none: no address wants TLS
};

}  // namespace muster

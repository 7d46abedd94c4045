// A small certificate authority in a folder: for a fleet of one's own (S-3).
//
//   ca.crt  ca.key          the authority; whoever has ca.key can issue
//   muster.crt muster.key   the daemon's certificate
//   NAME.crt NAME.key       one for each peer, with its role as OU and its name as CN
//
// Keys are P-256, of mode 0600. No file is ever overwritten, but a certificate by a renewed one of the same key.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tls/certificate.h"
#include "tls/peer_role.h"

namespace muster {

// A sentence for whoever asked: a file cannot be made, read or used. What was made before is removed again.
class AuthorityError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};
// What was asked for can be nothing: a name, an address or a number of days.
class BadAuthorityArgument : public AuthorityError {
public:
    using AuthorityError::AuthorityError;
};

// By what others reach the owner of a certificate.
struct ReachableNames {
    std::vector<std::string> dns;
    std::vector<std::string> ip;
};

struct IssuedFiles {
    std::string certificate;
    std::string key;
    CertificateFacts facts;
};

class Authority {
public:
    static constexpr std::int64_t days_usual = 365;
    static constexpr std::int64_t days_max = 3650;
    static constexpr std::string_view daemon_name = "muster";

    // `now` is the date in seconds since 1970.
    Authority(std::string folder, std::int64_t now) : folder_(std::move(folder)), now_(now) {}

    // Makes the authority and the daemon's certificate. The folder is made when it is not there; one that holds an
    // authority is refused. The daemon is also known as localhost, 127.0.0.1 and ::1.
    IssuedFiles init(const ReachableNames& daemon);

    // A certificate for a peer. A key that is there without its certificate is used when it is one that a killed
    // command left: P-256, of this user, mode 0600. Any other is refused and stays as it is.
    IssuedFiles issue(std::string_view name, PeerRole role, const ReachableNames& names, std::int64_t days);

    // The same certificate with a new serial number and new dates, for the key that is there. It is valid for as many
    // days as before.
    IssuedFiles renew(std::string_view name);

    std::string file(std::string_view name, std::string_view ending) const;

private:
    std::string folder_;
    std::int64_t now_;
};

}  // namespace muster

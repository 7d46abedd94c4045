// What a certificate says, and reading certificates and keys from PEM files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tls/openssl_handle.h"
#include "tls/peer_role.h"

namespace muster {

// Times are seconds since 1970.
struct CertificateFacts {
    std::string name;                     // the subject's CN
    std::string unit;                     // the subject's OU; a role for those that Muster issued
    std::string issuer;                   // the issuer's CN
    std::string serial;                   // as serial_text() gives it
    std::int64_t not_before = 0;          // the first second it is valid
    std::int64_t not_after = 0;           // the last one
    std::vector<std::string> dns_names;   // of the subject's alternative names
    std::vector<std::string> ip_numbers;  // the same
    bool is_authority = false;            // may sign others

    std::optional<PeerRole> role() const { return parse_peer_role(unit); }
};

CertificateFacts facts_of(const X509& certificate);

// Hexadecimal, upper case, without leading zeros, as `openssl x509 -serial` prints it.
std::string serial_text(const X509& certificate);
// The same form of what a person wrote: any case, with or without colons, spaces and 0x; nothing when it is no number.
std::optional<std::string> parse_serial(std::string_view text);

// Each fails with a sentence that names the file. Files over 1 MiB, and those that are no plain files, are refused.

// The first certificate in the file, and those behind it, which lead to its authority.
struct CertificateChain {
    OpenSslHandle<X509> leaf;
    std::vector<OpenSslHandle<X509>> others;
};
Result<CertificateChain, std::string> read_certificates(const std::string& path);

// One without a pass phrase.
Result<OpenSslHandle<EVP_PKEY>, std::string> read_key(const std::string& path);

// Why the key in the file is not its owner's alone, in a sentence that names the file; empty when it is. As other
// servers have it: a file of root's may be open to a group, which is how a key is shared with a service.
std::string warning_of_key_mode(const std::string& path);

// The whole file.
Result<std::string, std::string> read_small_file(const std::string& path);

}  // namespace muster

// What a certificate's dates mean for its owner, in sentences for the log (S-3).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tls/certificate.h"

namespace muster {

// From so many days before it expires its owner is warned.
inline constexpr std::int64_t certificate_warn_days = 14;

// Why the certificate must not replace one that is used: it is no better. Empty when it may. `now` is in seconds since
// 1970; `key` is what names its file.
std::string problem_of_dates(std::string_view key, const CertificateFacts& facts, std::int64_t now);

// What an operator should know of a certificate that is used; empty when there is nothing.
std::string warning_of_dates(std::string_view key, const CertificateFacts& facts, std::int64_t now);

// The same of the authority that peers' certificates are judged by; of several, the one that is valid longest.
std::string warning_of_authority_dates(std::string_view key, const CertificateFacts& facts, std::int64_t now);

// "valid until 2027-01-31 08:00 UTC", "expired on …" or "not valid before …".
std::string text_of_dates(const CertificateFacts& facts, std::int64_t now);

}  // namespace muster

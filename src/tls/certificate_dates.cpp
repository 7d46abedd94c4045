#include "tls/certificate_dates.h"

#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace muster {
namespace {

constexpr std::int64_t day_seconds = 86'400;

}  // namespace

std::string problem_of_dates(std::string_view key, const CertificateFacts& facts, std::int64_t now) {
    if (facts.not_after < now) return fmt::format("{}: the certificate has expired", key);
    if (facts.not_before > now) return fmt::format("{}: the certificate is not valid yet", key);
    return {};
}

std::string warning_of_dates(std::string_view key, const CertificateFacts& facts, std::int64_t now) {
    const std::int64_t left = facts.not_after - now;
    if (facts.not_before > now) return fmt::format("The TLS certificate ({}) is not valid yet; peers refuse it", key);
    if (left < 0) return fmt::format("The TLS certificate ({}) has expired; peers refuse it", key);
    if (left < certificate_warn_days * day_seconds)
        return fmt::format("The TLS certificate ({}) expires in {} days", key, left / day_seconds);
    return {};
}

std::string warning_of_authority_dates(std::string_view key, const CertificateFacts& facts, std::int64_t now) {
    const std::int64_t left = facts.not_after - now;
    if (facts.not_before > now) return fmt::format("The authority ({}) is not valid yet; every peer is refused", key);
    if (left < 0) return fmt::format("The authority ({}) has expired; every peer is refused", key);
    if (left < certificate_warn_days * day_seconds)
        return fmt::format("The authority ({}) expires in {} days; every peer is refused then", key,
                           left / day_seconds);
    return {};
}

std::string text_of_dates(const CertificateFacts& facts, std::int64_t now) {
    const auto date = [](std::int64_t seconds) {
        return fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(static_cast<std::time_t>(seconds)));
    };
    if (facts.not_before > now) return "not valid before " + date(facts.not_before);
    return (facts.not_after < now ? "expired on " : "valid until ") + date(facts.not_after);
}

}  // namespace muster

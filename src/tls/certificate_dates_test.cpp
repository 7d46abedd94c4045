#include "tls/certificate_dates.h"

#include <doctest/doctest.h>

#include "tls/tls_link_fixture.h"

namespace muster {
namespace {

TEST_CASE("S-3: a certificate's owner is warned from 14 days before it expires, and no sooner") {
    CertificateFacts facts;
    facts.not_before = 100 * day;
    facts.not_after = 200 * day;
    CHECK(warning_of_dates("tls.certificate_file", facts, 186 * day).empty());
    CHECK(warning_of_dates("tls.certificate_file", facts, 186 * day + 1) ==
          "The TLS certificate (tls.certificate_file) expires in 13 days");
    CHECK(warning_of_dates("MUSTER_CERTIFICATE_FILE", facts, 200 * day) ==
          "The TLS certificate (MUSTER_CERTIFICATE_FILE) expires in 0 days");
    CHECK(warning_of_dates("MUSTER_CERTIFICATE_FILE", facts, 200 * day + 1) ==
          "The TLS certificate (MUSTER_CERTIFICATE_FILE) has expired; peers refuse it");
    CHECK(warning_of_dates("MUSTER_CERTIFICATE_FILE", facts, 100 * day - 1) ==
          "The TLS certificate (MUSTER_CERTIFICATE_FILE) is not valid yet; peers refuse it");
}

TEST_CASE("S-2, S-3: an authority that expires is told before every peer is refused") {
    CertificateFacts facts;
    facts.not_before = 100 * day;
    facts.not_after = 200 * day;
    CHECK(warning_of_authority_dates("tls.client_ca_file", facts, 186 * day).empty());
    CHECK(warning_of_authority_dates("tls.client_ca_file", facts, 186 * day + 1) ==
          "The authority (tls.client_ca_file) expires in 13 days; every peer is refused then");
    CHECK(warning_of_authority_dates("tls.client_ca_file", facts, 200 * day + 1) ==
          "The authority (tls.client_ca_file) has expired; every peer is refused");
    CHECK(warning_of_authority_dates("tls.client_ca_file", facts, 100 * day - 1) ==
          "The authority (tls.client_ca_file) is not valid yet; every peer is refused");
}

TEST_CASE("S-3: dates are told as a person reads them") {
    CertificateFacts facts;
    facts.not_before = 20'000 * day;
    facts.not_after = 20'100 * day;
    CHECK(text_of_dates(facts, 20'000 * day) == "valid until 2025-01-12 00:00 UTC");
    CHECK(text_of_dates(facts, 20'100 * day) == "valid until 2025-01-12 00:00 UTC");
    CHECK(text_of_dates(facts, 20'100 * day + 1) == "expired on 2025-01-12 00:00 UTC");
    CHECK(text_of_dates(facts, 20'000 * day - 1) == "not valid before 2024-10-04 00:00 UTC");
}

TEST_CASE("S-1: a new certificate that is not valid now replaces none") {
    CertificateFacts facts;
    facts.not_before = 100 * day;
    facts.not_after = 200 * day;
    CHECK(problem_of_dates("tls.certificate_file", facts, 100 * day).empty());
    CHECK(problem_of_dates("tls.certificate_file", facts, 200 * day).empty());
    CHECK(problem_of_dates("tls.certificate_file", facts, 200 * day + 1) ==
          "tls.certificate_file: the certificate has expired");
    CHECK(problem_of_dates("tls.certificate_file", facts, 100 * day - 1) ==
          "tls.certificate_file: the certificate is not valid yet");
}

}  // namespace
}  // namespace muster

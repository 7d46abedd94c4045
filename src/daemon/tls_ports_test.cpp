#include "daemon/tls_ports.h"

#include <ctime>
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "certs/authority.h"
#include "store/scratch_directory.h"
#include "tls/ticket_keys.h"

using namespace muster;

TEST_CASE("S-1, S-2: a certificate that expires in use does not hold up a revocation, and a new one must be good") {
    constexpr std::int64_t day = 86'400;
    const std::int64_t now = std::time(nullptr);
    const ScratchDirectory directory;
    const std::string pki = directory.file("pki");
    Authority(pki, now - 400 * day).init({});
    Config config;
    config.tls.ports = {"servers"};
    config.tls.certificate_file = pki + "/muster.crt";
    config.tls.key_file = pki + "/muster.key";
    config.tls.client_ca_file = pki + "/ca.crt";
    config.tls.revoked_file = directory.file("revoked");
    std::ofstream(config.tls.revoked_file) << "# none yet\n";
    const UnixMs wall{now * 1'000};

    const auto used = read_tls_ports(config, nullptr);
    REQUIRE_MESSAGE(used, used.error());
    CHECK(warning_of_certificate(*used, wall).find("has expired") != std::string::npos);

    std::ofstream(config.tls.revoked_file) << "1234\n";
    const auto next = read_tls_ports(config, nullptr);
    REQUIRE(next);
    CHECK(next->material->is_revoked("1234"));
    CHECK(problem_of_new_certificate(*used, *next, wall).empty());

    // Another one that has expired is no better than the one that is used.
    Authority(pki, now - 380 * day).renew("muster");
    const auto worse = read_tls_ports(config, nullptr);
    REQUIRE(worse);
    CHECK(problem_of_new_certificate(*used, *worse, wall) == "tls.certificate_file: the certificate has expired");
    Authority(pki, now).renew("muster");
    const auto better = read_tls_ports(config, nullptr);
    REQUIRE(better);
    CHECK(problem_of_new_certificate(*used, *better, wall).empty());
    CHECK(warnings_of_keys(*better).empty());
    std::filesystem::permissions(config.tls.key_file, std::filesystem::perms(0644));
    CHECK(warnings_of_keys(*read_tls_ports(config, nullptr)) ==
          std::vector<std::string>{"tls.key_file: " + config.tls.key_file +
                                   " is open to others than its owner (mode 0644); use chmod 600"});
}

TEST_CASE("S-2, S-3: the authority of peers counts for the expiry that is told, and an expired one replaces none") {
    constexpr std::int64_t day = 86'400;
    const std::int64_t now = std::time(nullptr);
    const ScratchDirectory directory;
    const std::string pki = directory.file("pki");
    Authority(pki, now - 3'645 * day).init({});
    Authority(pki, now).renew("muster");
    const std::string expired = directory.file("expired");
    Authority(expired, now - 3'651 * day).init({});
    Config config;
    config.tls.ports = {"servers"};
    config.tls.certificate_file = pki + "/muster.crt";
    config.tls.key_file = pki + "/muster.key";
    config.tls.client_ca_file = pki + "/ca.crt";
    const UnixMs wall{now * 1'000};

    const auto used = read_tls_ports(config, nullptr);
    REQUIRE_MESSAGE(used, used.error());
    CHECK(used->expires() == now + 5 * day);
    CHECK(warning_of_certificate(*used, wall) ==
          "The authority (tls.client_ca_file) expires in 5 days; every peer is refused then");
    config.tls.client_ca_file = expired + "/ca.crt";
    const auto next = read_tls_ports(config, nullptr);
    REQUIRE_MESSAGE(next, next.error());
    CHECK(problem_of_new_certificate(*used, *next, wall) == "tls.client_ca_file: the certificate has expired");

    // While one authority follows another, both are there, and the later one counts.
    const std::string both = directory.file("both");
    std::ofstream(both) << std::ifstream(expired + "/ca.crt").rdbuf() << std::ifstream(pki + "/ca.crt").rdbuf();
    config.tls.client_ca_file = both;
    const auto rotated = read_tls_ports(config, nullptr);
    REQUIRE_MESSAGE(rotated, rotated.error());
    CHECK(problem_of_new_certificate(*used, *rotated, wall).empty());
    CHECK(rotated->expires() == now + 5 * day);
}

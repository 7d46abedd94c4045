#include "tls/certificate.h"

#include <doctest/doctest.h>

#include "certs/authority.h"
#include "testing/test_folder.h"

using namespace muster;

TEST_CASE("S-2: serial numbers are compared in one form") {
    CHECK(parse_serial("0a:1B c3") == "A1BC3");
    CHECK(parse_serial("0x00FF") == "FF");
    CHECK(parse_serial("0000") == "0");
    CHECK_FALSE(parse_serial(""));
    CHECK_FALSE(parse_serial("xyz"));
    CHECK_FALSE(parse_serial("12-34"));
}

TEST_CASE("S-2: each role has a name, and nothing else is a role") {
    for (const PeerRole role : peer_roles) CHECK(parse_peer_role(to_string(role)) == role);
    CHECK_FALSE(parse_peer_role("Server"));
    CHECK_FALSE(parse_peer_role(""));
}

TEST_CASE("S-1: a file that is no certificate or no key is refused by its name") {
    const TestFolder folder;
    const std::string text = folder.write("a.crt", "hello").string();
    const std::string broken =
        folder.write("b.crt", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").string();
    CHECK(read_certificates(text).error() == "cannot read " + text + ": there is no certificate in it (PEM)");
    CHECK(read_certificates(broken).error().starts_with("cannot read " + broken));
    CHECK(read_key(text).error().find("no private key") != std::string::npos);
    CHECK(read_certificates(folder.path() / "none").error().find("No such file") != std::string::npos);
    CHECK(read_certificates(folder.path()).error().find("not a plain file") != std::string::npos);
}

TEST_CASE("S-3: what a certificate says is read back") {
    const TestFolder folder;
    constexpr std::int64_t now = 1'800'000'000;
    Authority authority((folder.path() / "pki").string(), now);
    authority.init({});
    const IssuedFiles issued =
        authority.issue("eu-1", PeerRole::server, {{"eu-1.example"}, {"203.0.113.7", "2001:db8::1"}}, 30);
    const auto chain = read_certificates(issued.certificate);
    REQUIRE(chain);
    const CertificateFacts facts = facts_of(*chain->leaf);
    CHECK(facts.name == "eu-1");
    CHECK(facts.role() == PeerRole::server);
    CHECK(facts.issuer == "Muster CA");
    CHECK(facts.not_after == now + 30 * 86'400);
    CHECK(facts.not_before == now - 3'600);
    CHECK(facts.dns_names == std::vector<std::string>{"eu-1.example"});
    CHECK(facts.ip_numbers == std::vector<std::string>{"203.0.113.7", "2001:db8::1"});
    CHECK_FALSE(facts.is_authority);
    CHECK(facts.serial == issued.facts.serial);
    CHECK(chain->others.empty());
}

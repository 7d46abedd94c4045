#include "agent/agent_tls.h"

#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "certs/authority.h"
#include "testing/test_folder.h"

namespace muster {
namespace {

constexpr std::int64_t day = 86'400;
constexpr std::int64_t today = 20'000 * day;
const std::vector<std::string> over_tls{"127.0.0.1:11032", "muster-tls://muster.example:11032"};

UnixMs on(std::int64_t seconds) {
    return UnixMs(seconds * 1'000);
}

struct Pki {
    Pki() {
        authority(today).init({});
        authority(today).issue("host-1", PeerRole::agent, {}, 30);
    }
    Authority authority(std::int64_t now) const { return {path, now}; }
    sdk::TlsOptions files() const { return {path + "/ca.crt", path + "/host-1.crt", path + "/host-1.key"}; }
    void replace(const std::string& name, const std::string& by) const {
        std::filesystem::copy_file(by, path + "/" + name, std::filesystem::copy_options::overwrite_existing);
    }

    TestFolder folder;
    std::string path = (folder.path() / "pki").string();
};

TEST_CASE("S-1: an agent without an address that wants TLS reads no file") {
    auto tls = AgentTls::read({"127.0.0.1:11032"}, {.ca_file = "/nowhere"});
    REQUIRE(tls);
    CHECK(tls->reload(on(today)).value().empty());
    CHECK(tls->warning(on(today)).empty());
    CHECK_FALSE(tls->expires());
}

TEST_CASE("S-3: a renewed certificate and a changed authority are taken and told, and the same ones are no news") {
    const Pki pki;
    auto tls = AgentTls::read(over_tls, pki.files());
    REQUIRE(tls);
    CHECK(tls->expires() == today + 30 * day);
    CHECK(tls->warning(on(today + 16 * day)).empty());
    CHECK(tls->warning(on(today + 17 * day)) == "The TLS certificate (MUSTER_CERTIFICATE_FILE) expires in 13 days");
    CHECK(tls->reload(on(today)).value().empty());

    const std::string before = pki.authority(today).renew("host-1").facts.serial;
    REQUIRE(tls->reload(on(today)));
    const std::string after = pki.authority(today + 20 * day).renew("host-1").facts.serial;
    const auto changes = tls->reload(on(today + 20 * day));
    REQUIRE(changes);
    REQUIRE(changes->size() == 1);
    CHECK(changes->front() ==
          "MUSTER_CERTIFICATE_FILE: certificate " + before + " -> " + after + "; new connections show it");
    CHECK(tls->expires() == today + 50 * day);
    CHECK(tls->warning(on(today + 20 * day)).empty());

    const Pki other;
    pki.replace("ca.crt", other.path + "/ca.crt");
    CHECK(tls->reload(on(today + 20 * day)).value() ==
          std::vector<std::string>{"MUSTER_CA_FILE: other authorities; new connections trust them"});
}

TEST_CASE("S-1: a certificate that expires in use does not hold up a reload, and a key that others can read is told") {
    const Pki pki;
    auto tls = AgentTls::read(over_tls, pki.files());
    REQUIRE(tls);
    CHECK(tls->key_warning().empty());
    const Pki other;
    pki.replace("ca.crt", other.path + "/ca.crt");
    CHECK(tls->reload(on(today + 31 * day)).value() ==
          std::vector<std::string>{"MUSTER_CA_FILE: other authorities; new connections trust them"});
    using std::filesystem::perms;
    std::filesystem::permissions(pki.path + "/host-1.key", perms::owner_read | perms::others_read);
    CHECK(tls->key_warning() ==
          "MUSTER_KEY_FILE: " + pki.path + "/host-1.key is open to others than its owner (mode 0404); use chmod 600");
}

TEST_CASE("S-1: files that cannot be used are refused by the variable's name, and the old ones stay in force") {
    const Pki pki;
    const Pki other;
    auto tls = AgentTls::read(over_tls, pki.files());
    REQUIRE(tls);
    const std::int64_t expires = *tls->expires();
    const auto refused = [&] {
        const auto read = AgentTls::read(over_tls, pki.files());
        const auto reloaded = tls->reload(on(today));
        REQUIRE_FALSE(reloaded);
        CHECK(tls->expires() == expires);
        CHECK((read || read.error() == reloaded.error()));
        return reloaded.error();
    };
    pki.authority(today - 40 * day).renew("host-1");
    CHECK(refused() == "MUSTER_CERTIFICATE_FILE: the certificate has expired");
    pki.replace("host-1.crt", other.path + "/host-1.crt");
    CHECK(refused() == "MUSTER_KEY_FILE: " + pki.path + "/host-1.key does not belong to the certificate in " +
                           pki.path + "/host-1.crt");
    std::filesystem::remove(pki.path + "/host-1.key");
    CHECK(refused() == "MUSTER_KEY_FILE: cannot read " + pki.path + "/host-1.key: No such file or directory");
    pki.replace("host-1.crt", pki.path + "/ca.key");
    CHECK(refused() ==
          "MUSTER_CERTIFICATE_FILE: cannot read " + pki.path + "/host-1.crt: there is no certificate in it (PEM)");
    pki.replace("ca.crt", pki.path + "/ca.key");
    CHECK(refused() == "MUSTER_CA_FILE: cannot read " + pki.path + "/ca.crt: there is no certificate in it (PEM)");

    sdk::TlsOptions files = other.files();
    files.key_file.clear();
    CHECK(AgentTls::read(over_tls, files).error() ==
          "MUSTER_KEY_FILE: not set; a certificate and its key belong together");
}

}  // namespace
}  // namespace muster

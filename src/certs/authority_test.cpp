#include "certs/authority.h"

#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "testing/test_folder.h"

using namespace muster;

namespace {

constexpr std::int64_t now = 1'800'000'000;
constexpr std::int64_t day = 86'400;

std::string content_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

unsigned mode_of(const std::string& path) {
    struct stat about{};
    REQUIRE(::stat(path.c_str(), &about) == 0);
    return about.st_mode & 07777U;
}

struct Folder {
    TestFolder folder;
    std::string path = (folder.path() / "pki").string();
    Authority authority{path, now};
};

}  // namespace

TEST_CASE_FIXTURE(Folder, "S-3: init makes an authority and the daemon's certificate, with keys for their owner only") {
    const IssuedFiles daemon = authority.init({{"muster.example"}, {"203.0.113.5"}});
    for (const char* key : {"ca.key", "muster.key"}) CHECK(mode_of(path + "/" + key) == 0600);
    CHECK(mode_of(path) == 0700);
    CHECK(daemon.facts.dns_names == std::vector<std::string>{"localhost", "muster.example"});
    CHECK(daemon.facts.ip_numbers == std::vector<std::string>{"127.0.0.1", "::1", "203.0.113.5"});
    CHECK(daemon.facts.not_after == now + 365 * day);

    const auto authority_read = read_certificates(path + "/ca.crt");
    const auto daemon_read = read_certificates(daemon.certificate);
    REQUIRE(authority_read);
    REQUIRE(daemon_read);
    CHECK(facts_of(*authority_read->leaf).is_authority);
    CHECK(X509_verify(daemon_read->leaf.get(), X509_get0_pubkey(authority_read->leaf.get())) == 1);
    const auto key = read_key(daemon.key);
    REQUIRE(key);
    CHECK(EVP_PKEY_get_bits(key->get()) == 256);
    CHECK(EVP_PKEY_is_a(key->get(), "EC"));
}

TEST_CASE_FIXTURE(Folder, "S-3: nothing is ever overwritten, and what was there stays as it was") {
    authority.init({});
    authority.issue("one", PeerRole::server, {}, 30);
    const std::string before =
        content_of(path + "/ca.key") + content_of(path + "/one.key") + content_of(path + "/one.crt");
    CHECK_THROWS_WITH_AS(authority.init({}), doctest::Contains("never overwritten"), AuthorityError);
    CHECK_THROWS_WITH_AS(authority.issue("one", PeerRole::matchmaker, {}, 30), doctest::Contains("never overwritten"),
                         AuthorityError);
    CHECK(content_of(path + "/ca.key") + content_of(path + "/one.key") + content_of(path + "/one.crt") == before);
}

TEST_CASE_FIXTURE(Folder, "S-3: an issue that fails half way leaves no file behind") {
    authority.init({});
    std::ofstream(path + "/half.crt") << "in the way";
    CHECK_THROWS_AS(authority.issue("half", PeerRole::server, {}, 30), AuthorityError);
    CHECK_FALSE(std::filesystem::exists(path + "/half.key"));
    CHECK(content_of(path + "/half.crt") == "in the way");
}

TEST_CASE_FIXTURE(Folder, "S-3: an init or issue that was killed between any two files is gone on with") {
    authority.init({});
    const std::string authority_key = content_of(path + "/ca.key");
    // From the last file that is written to the first.
    for (const char* missing : {"muster.crt", "muster.key", "ca.crt"}) {
        CAPTURE(missing);
        std::filesystem::remove(path + "/" + missing);
        std::ofstream(path + "/" + missing + ".new") << "half of it";
        Folder copy;
        std::filesystem::copy(path, copy.path);
        const IssuedFiles made = copy.authority.init({});
        CHECK(content_of(copy.path + "/ca.key") == authority_key);
        CHECK_FALSE(std::filesystem::exists(copy.path + "/" + missing + ".new"));
        const auto ca = read_certificates(copy.path + "/ca.crt");
        const auto daemon = read_certificates(made.certificate);
        REQUIRE(ca);
        REQUIRE(daemon);
        CHECK(X509_verify(daemon->leaf.get(), X509_get0_pubkey(ca->leaf.get())) == 1);
        CHECK(mode_of(made.key) == 0600);
        CHECK_THROWS_AS(copy.authority.init({}), AuthorityError);
    }
    Folder other;
    other.authority.init({});
    other.authority.issue("eu-1", PeerRole::server, {}, 30);
    std::filesystem::remove(other.path + "/eu-1.crt");
    const IssuedFiles again = other.authority.issue("eu-1", PeerRole::server, {}, 30);
    const auto key = read_key(again.key);
    REQUIRE(key);
    CHECK(X509_check_private_key(read_certificates(again.certificate)->leaf.get(), key->get()) == 1);
    // A certificate whose key is gone is of no use, and is not touched.
    std::filesystem::remove(other.path + "/ca.key");
    CHECK_THROWS_AS(other.authority.init({}), AuthorityError);
}

TEST_CASE_FIXTURE(Folder, "S-3: names that are no file or DNS names, and days out of range, are refused") {
    authority.init({});
    for (const char* name : {"", "ca", "muster", "a/b", "..", ".x", "-x", "ä"})
        CHECK_THROWS_AS(authority.issue(name, PeerRole::server, {}, 30), AuthorityError);
    CHECK_THROWS_AS(authority.issue(std::string(65, 'a'), PeerRole::server, {}, 30), AuthorityError);
    CHECK_THROWS_AS(authority.issue("x", PeerRole::server, {{}, {"host"}}, 30), AuthorityError);
    CHECK_THROWS_AS(authority.issue("x", PeerRole::server, {{"a,IP:1.2.3.4"}, {}}, 30), AuthorityError);
    CHECK_THROWS_AS(authority.issue("x", PeerRole::server, {}, 0), AuthorityError);
    CHECK_THROWS_AS(authority.issue("x", PeerRole::server, {}, 3651), AuthorityError);
    CHECK(authority.issue(std::string(64, 'a'), PeerRole::server, {{"*.example"}, {}}, 3650).facts.not_after ==
          now + 3650 * day);
}

TEST_CASE_FIXTURE(Folder, "S-3: renew keeps key, name, role and addresses, and gives new dates and a new number") {
    authority.init({});
    const IssuedFiles first = authority.issue("eu-1", PeerRole::matchmaker, {{"eu.example"}, {"203.0.113.7"}}, 30);
    const std::string key = content_of(first.key);
    Authority later(path, now + 20 * day);
    const IssuedFiles second = later.renew("eu-1");
    CHECK(content_of(second.key) == key);
    CHECK(second.facts.name == "eu-1");
    CHECK(second.facts.role() == PeerRole::matchmaker);
    CHECK(second.facts.dns_names == first.facts.dns_names);
    CHECK(second.facts.ip_numbers == first.facts.ip_numbers);
    CHECK(second.facts.not_after == now + 50 * day);
    CHECK(second.facts.serial != first.facts.serial);
    CHECK(facts_of(*read_certificates(first.certificate)->leaf).serial == second.facts.serial);
    CHECK_THROWS_AS(later.renew("nobody"), AuthorityError);
    CHECK_THROWS_AS(later.renew("ca"), AuthorityError);
    CHECK_THROWS_AS(later.renew("../x"), AuthorityError);
    CHECK(later.renew("muster").facts.not_after == now + (20 + 365) * day);
}

TEST_CASE_FIXTURE(Folder, "S-3: only Muster's own certificate, and a node's, may answer as Muster") {
    const auto may_answer = [](const std::string& file) {
        const auto read = read_certificates(file);
        REQUIRE(read);
        return X509_check_purpose(read->leaf.get(), X509_PURPOSE_SSL_SERVER, 0) == 1;
    };
    CHECK(may_answer(authority.init({}).certificate));
    CHECK(may_answer(authority.issue("n1", PeerRole::node, {}, 365).certificate));
    for (const PeerRole role : {PeerRole::agent, PeerRole::server, PeerRole::matchmaker, PeerRole::operator_}) {
        const std::string name(to_string(role));
        CHECK_FALSE(may_answer(authority.issue(name, role, {{"localhost"}, {}}, 365).certificate));
        CHECK_FALSE(may_answer(authority.renew(name).certificate));
    }
    CHECK(may_answer(authority.renew("muster").certificate));
}

TEST_CASE_FIXTURE(Folder, "S-3: another authority's certificate is not renewed by this one") {
    authority.init({});
    Authority other((folder.path() / "other").string(), now);
    other.init({});
    other.issue("alice", PeerRole::operator_, {}, 365);
    for (const char* ending : {".crt", ".key"})
        std::filesystem::copy_file(other.file("alice", ending), authority.file("alice", ending));
    CHECK_THROWS_WITH_AS(authority.renew("alice"), doctest::Contains("is not of the authority in"), AuthorityError);
}

TEST_CASE_FIXTURE(Folder, "S-3: of two at once one makes the name, and key and certificate belong together") {
    authority.init({});
    for (int round = 0; round < 5; ++round) {
        const std::string name = "eu-" + std::to_string(round);
        std::atomic<int> made{0};
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; ++i)
            threads.emplace_back([&] {
                try {
                    Authority(path, now).issue(name, PeerRole::server, {}, 365);
                    ++made;
                } catch (const AuthorityError&) {
                    // Another thread was first.
                }
            });
        for (std::thread& each : threads) each.join();
        CHECK(made == 1);
        const auto certificate = read_certificates(authority.file(name, ".crt"));
        const auto key = read_key(authority.file(name, ".key"));
        REQUIRE(certificate);
        REQUIRE(key);
        CHECK(X509_check_private_key(certificate->leaf.get(), key->get()) == 1);
    }
}

TEST_CASE_FIXTURE(Folder, "S-3: without an authority in the folder nothing is issued") {
    CHECK_THROWS_WITH_AS(authority.issue("x", PeerRole::server, {}, 30), doctest::Contains("ca.crt"), AuthorityError);
    authority.init({});
    Authority too_late(path, now + 3'700 * day);
    CHECK_THROWS_WITH_AS(too_late.issue("x", PeerRole::server, {}, 30), doctest::Contains("expired"), AuthorityError);
}

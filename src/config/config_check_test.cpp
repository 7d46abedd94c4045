#include "config/config_check.h"

#include <sys/stat.h>

#include <filesystem>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include "certs/authority.h"
#include "testing/test_folder.h"

using namespace muster;

namespace {

using State = ConfigCheck::SecretFound::State;

constexpr std::string_view open_http = "[tls]\ninsecure = true\n[listen]\nhttp = \"10.0.0.5:11030\"\n";
constexpr std::string_view token = "0123456789abcdef0123456789abcdef\n";

struct Checking {
    TestFolder folder;

    std::int64_t now = 1'800'000'000;

    ConfigCheck check(std::string_view toml, const Environment& environment = {}) {
        return check_config({folder.write("muster.toml", toml), environment}, UnixMs(now * 1'000));
    }
    std::string handed_over(std::string_view name, std::string_view content) {
        std::filesystem::create_directories(folder.path() / "secrets");
        return folder.write("secrets/" + std::string(name), content).string();
    }
};

const ConfigCheck::SecretFound& secret(const ConfigCheck& check, std::string_view key) {
    for (const auto& found : check.secrets)
        if (found.key == key) return found;
    FAIL("no secret ", key);
    return check.secrets.front();
}

}  // namespace

TEST_CASE_FIXTURE(Checking, "X-1: a check says of each secret every place where it was looked for") {
    const ConfigCheck check = this->check("");
    CHECK(check.problems.empty());
    REQUIRE(check.secrets.size() == 7);
    const auto& admin = secret(check, "admin_token");
    CHECK(admin.state == State::not_set);
    CHECK(admin.text == "looked for MUSTER_AUTH_ADMIN_TOKEN, auth.admin_token_file and " +
                            (folder.path() / "secrets/admin_token").string());
    CHECK(secret(check, "store.password").state == State::not_set);
}

TEST_CASE_FIXTURE(Checking,
                  "X-2: a check finds a secret in the environment, in its file and in the credentials' folder") {
    CHECK(this->check(open_http).problems.size() == 1);

    const ConfigCheck variable = check(open_http, {{"MUSTER_AUTH_ADMIN_TOKEN", "0123456789abcdef"}});
    CHECK(variable.problems.empty());
    CHECK(secret(variable, "admin_token").text == "MUSTER_AUTH_ADMIN_TOKEN");

    const std::string file = folder.write("elsewhere", token).string();
    ::chmod(file.c_str(), 0600);
    const ConfigCheck named = check(std::string(open_http) + "[auth]\nadmin_token_file = \"" + file + "\"\n");
    CHECK(named.problems.empty());
    CHECK(secret(named, "admin_token").text == file);

    const std::string beside = handed_over("admin_token", token);
    for (const char* keys :
         {"", "[auth]\nadmin_token_file = \"/run/credentials/muster.service/muster_admin_token\"\n"}) {
        const ConfigCheck given = check(std::string(open_http) + keys);
        CHECK(given.problems.empty());
        CHECK(secret(given, "admin_token").state == State::set);
        CHECK(secret(given, "admin_token").text == beside);
    }
}

TEST_CASE_FIXTURE(Checking, "X-2: a check refuses a secret that the service could not use, and never says it") {
    handed_over("admin_token", "\n");
    const ConfigCheck empty = check(open_http);
    REQUIRE(empty.problems.size() == 1);
    CHECK(empty.problems[0].find("systemd's credentials: auth.admin_token: cannot read ") == 0);
    CHECK(secret(empty, "admin_token").state == State::wrong);

    std::filesystem::remove_all(folder.path() / "secrets");
    const ConfigCheck missing = check("[auth]\nserver_token_file = \"/nowhere/at/all\"\n");
    REQUIRE(missing.problems.size() == 1);
    CHECK(missing.problems[0].find("muster.toml:2: auth.server_token_file: cannot read /nowhere/at/all") !=
          std::string::npos);
}

TEST_CASE_FIXTURE(Checking, "X-2: a secret that this user may not read is told and taken to be right") {
    if (::geteuid() == 0) return;  // root may read everything; tests/cli_test.py looks with another user's eyes
    const std::string beside = handed_over("admin_token", token);
    ::chmod(beside.c_str(), 0);
    const ConfigCheck check = this->check(open_http);
    CHECK(check.problems.empty());
    CHECK(secret(check, "admin_token").state == State::not_readable);
}

TEST_CASE_FIXTURE(Checking,
                  "X-2: a daemon takes the secrets that systemd hands over, and the config's own before them") {
    const std::string folder_of_credentials = (folder.path() / "credentials").string();
    std::filesystem::create_directories(folder_of_credentials);
    folder.write("credentials/muster_admin_token", "from-systemd-0123\n");
    const Environment environment{{"CREDENTIALS_DIRECTORY", folder_of_credentials}};

    const auto given = load_config({folder.write("muster.toml", ""), environment});
    REQUIRE(given);
    CHECK(given->config.auth.admin_token.matches("from-systemd-0123"));
    CHECK_FALSE(given->config.auth.server_token.is_set());

    const std::string file = folder.write("own", "from-the-config-0123\n").string();
    const auto named =
        load_config({folder.write("muster.toml", "[auth]\nadmin_token_file = \"" + file + "\"\n"), environment});
    REQUIRE(named);
    CHECK(named->config.auth.admin_token.matches("from-the-config-0123"));
    CHECK_FALSE(named->config.auth.admin_token.matches("from-systemd-0123"));
}

TEST_CASE_FIXTURE(Checking, "S-1: a check reads the certificates and the key as the daemon will") {
    const std::string pki = (folder.path() / "pki").string();
    Authority(pki, 1'800'000'000).init({});
    const auto tls = [&](std::string_view key) {
        return fmt::format("[tls]\nports = [\"http\"]\ncertificate_file = \"{0}/muster.crt\"\nkey_file = \"{0}/{1}\"\n",
                           pki, key);
    };
    const ConfigCheck good = check(tls("muster.key"));
    CHECK(good.problems.empty());
    const std::vector<std::string> other_warnings = good.warnings;
    REQUIRE(good.certificates.size() == 1);
    CHECK(good.certificates[0].key == "tls.certificate_file");
    CHECK(good.certificates[0].text == "valid until 2028-01-15 08:00 UTC: " + pki + "/muster.crt");
    const ConfigCheck wrong = check(tls("ca.key"));
    REQUIRE(wrong.problems.size() == 1);
    CHECK(wrong.problems[0].starts_with("tls.key_file: "));

    const auto warned = [&](const ConfigCheck& checked) {
        CHECK(checked.problems.empty());
        REQUIRE(checked.warnings.size() > other_warnings.size());
        return checked.warnings[0];
    };
    now = 1'800'000'000 + 366 * 86'400;
    CHECK(warned(check(tls("muster.key"))) ==
          "The TLS certificate (tls.certificate_file) has expired; peers refuse it; a start goes on with it, a reload "
          "keeps the one before");
    CHECK(check(tls("muster.key")).certificates[0].text == "expired on 2028-01-15 08:00 UTC: " + pki + "/muster.crt");
    now = 1'800'000'000 - 86'400;
    CHECK(warned(check(tls("muster.key"))).starts_with("The TLS certificate (tls.certificate_file) is not valid yet"));
    CHECK(check(tls("muster.key")).certificates[0].text.starts_with("not valid before 2027-01-15 07:00 UTC: "));
    now = 1'800'000'000 + 360 * 86'400;
    CHECK(warned(check(tls("muster.key"))) == "The TLS certificate (tls.certificate_file) expires in 5 days");

    now = 1'800'000'000;
    std::filesystem::permissions(pki + "/muster.key", std::filesystem::perms(0644));
    CHECK(warned(check(tls("muster.key"))) ==
          "tls.key_file: " + pki + "/muster.key is open to others than its owner (mode 0644); use chmod 600");
}

TEST_CASE_FIXTURE(Checking,
                  "S-1, S-2: a check judges the authority of peers, and a port's own files where they count") {
    const std::string pki = (folder.path() / "pki").string();
    Authority(pki, now).init({});
    const auto tls = [&](std::string_view ports) {
        return fmt::format(
            "[tls]\nports = {1}\ncertificate_file = \"{0}/muster.crt\"\nkey_file = \"{0}/muster.key\"\n"
            "client_ca_file = \"{0}/ca.crt\"\nhttp_certificate_file = \"{0}/muster.crt\"\n"
            "http_key_file = \"{0}/ca.key\"\n",
            pki, ports);
    };
    // Who has no TLS at that port does not read them.
    const ConfigCheck unused = check(tls("[\"servers\"]"));
    CHECK(unused.problems.empty());
    REQUIRE(unused.certificates.size() == 2);
    CHECK(unused.certificates[1].key == "tls.client_ca_file");
    CHECK(unused.certificates[1].text == "valid until 2037-01-12 08:00 UTC: " + pki + "/ca.crt");
    const ConfigCheck used = check(tls("[\"servers\", \"http\"]"));
    REQUIRE(used.problems.size() == 1);
    CHECK(used.problems[0].starts_with("tls.http_key_file: "));

    Authority(pki, now + 3'649 * 86'400).renew("muster");
    now += 3'651 * std::int64_t{86'400};
    const ConfigCheck expired = check(tls("[\"servers\"]"));
    CHECK(expired.warnings[0].starts_with("The authority (tls.client_ca_file) has expired; every peer is refused; "));
}

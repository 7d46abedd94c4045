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

    ConfigCheck check(std::string_view toml, const Environment& environment = {}) {
        return check_config({folder.write("muster.toml", toml), environment});
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
    CHECK(check(tls("muster.key")).problems.empty());
    const ConfigCheck wrong = check(tls("ca.key"));
    REQUIRE(wrong.problems.size() == 1);
    CHECK(wrong.problems[0].starts_with("tls.key_file: "));
}

#include "config/config_reload.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "config/config_samples.h"
#include "config/config_toml.h"
#include "config/config_value.h"
#include "testing/test_folder.h"

using namespace muster;
using namespace std::chrono_literals;

TEST_CASE("X-3: a reload takes over what can change at once, and says what waits for a restart") {
    const Config running;
    Config wanted;
    wanted.log.level = LogLevel::debug;
    wanted.fleet.heartbeat_timeout = 3s;
    wanted.net.threads = 4;
    wanted.fleet.regions.pop_back();

    const ConfigReload reload = merge_reload(running, wanted);
    CHECK(reload.now ==
          std::vector<std::string>{"fleet.heartbeat_timeout: \"30s\" -> \"3s\"", "log.level: \"info\" -> \"debug\""});
    REQUIRE(reload.at_restart.size() == 2);
    CHECK(reload.at_restart[0].starts_with("fleet.regions: ["));
    CHECK(reload.at_restart[1] == "net.threads: 0 -> 4");
    CHECK(reload.config.log.level == LogLevel::debug);
    CHECK(reload.config.fleet.heartbeat_timeout == Duration(3s));
    CHECK(reload.config.net.threads == 0);
    CHECK(reload.config.fleet.regions.size() == running.fleet.regions.size());
}

TEST_CASE("X-3: every key that differs is told, once, and nothing else is") {
    for (const ConfigKey& key : config_keys()) {
        for (const std::string& sample : samples_of(key).good) {
            ConfigDraft wanted;
            read_toml("[" + std::string(key.table) + "]\n" + std::string(key.name) + " = " + sample, "x", wanted);
            const ConfigReload reload = merge_reload(Config{}, wanted.config);
            const std::size_t told = same_value(key, Config{}, wanted.config) ? 0 : 1;
            INFO(key.full_name() << " = " << sample);
            CHECK(reload.now.size() + reload.at_restart.size() == told);
            CHECK(reload.now.size() == (key.effect == TakesEffect::at_reload ? told : 0));
        }
    }
}

TEST_CASE("fault 69: a changed secret says only that it changed") {
    Config running, wanted;
    running.auth.server_token = Secret("correct horse");
    wanted.auth.server_token = Secret("battery staple");
    CHECK(merge_reload(running, wanted).now == std::vector<std::string>{"auth.server_token: changed"});
    CHECK(merge_reload(running, wanted).config.auth.server_token.matches("battery staple"));
    CHECK(merge_reload(running, Config{}).now == std::vector<std::string>{"auth.server_token: set -> not set"});
    wanted.auth.server_token = Secret("correct horse");
    CHECK(merge_reload(running, wanted).now.empty());
}

TEST_CASE("fault 17: a bad reload is refused whole with what is wrong") {
    const TestFolder folder;
    const auto file = folder.write("muster.toml", "[log]\nlevel = \"debug\"\n[clock]\nspeed = 0\n");
    const auto refused = reload_config(Config{}, {file, {}});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().size() == 1);
    CHECK(refused.error()[0].find("clock.speed: 0 is not allowed") != std::string::npos);

    folder.write("muster.toml", "[log]\nlevel = \"debug\"\n");
    const auto taken = reload_config(Config{}, {file, {}});
    REQUIRE(taken);
    CHECK(taken->config.log.level == LogLevel::debug);
}

TEST_CASE("S-4: a reload refuses a secret file without a secret, and says which") {
    const TestFolder folder;
    const auto token = folder.write("token", "a token of some length\n  \n");
    const auto file = folder.write("muster.toml", "[auth]\nserver_token_file = \"" + token.string() + "\"\n");
    const auto taken = reload_config(Config{}, {file, {}});
    REQUIRE(taken);
    CHECK(taken->config.auth.server_token.matches("a token of some length"));
    CHECK_FALSE(taken->config.auth.server_token.matches("  "));

    folder.write("token", "\n\n  \n");
    const auto refused = reload_config(taken->config, {file, {}});
    REQUIRE_FALSE(refused);
    REQUIRE(refused.error().size() == 1);
    CHECK(refused.error()[0].find("token: there is no secret in it, only blank lines") != std::string::npos);

    for (const char* inner : {"to\tken\n", "to\rken\n", "to\x01ken\n"}) {
        folder.write("token", inner);
        const auto odd = reload_config(taken->config, {file, {}});
        REQUIRE_FALSE(odd);
        CHECK(odd.error()[0].find("must be UTF-8 text without control characters") != std::string::npos);
    }
}

TEST_CASE("X-2: a reload cannot take the secret from a port that stays open to the network until the restart") {
    Config running;
    running.listen.servers = ListenAddress::parse("0.0.0.0:11032").value();
    running.auth.server_token = Secret("correct horse battery");
    // The file wants loopback and no token; but the address can only change at the restart.
    const auto refused = reload_config(running, {});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().back().starts_with("auth.server_token is not set"));
}

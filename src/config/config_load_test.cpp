#include "config/config_load.h"

#include <sys/stat.h>

#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "base/random.h"
#include "config/config_print.h"
#include "config/config_samples.h"
#include "config/config_toml.h"
#include "config/config_value.h"
#include "testing/test_folder.h"

using namespace muster;
using namespace std::chrono_literals;

namespace {

struct Loading {
    TestFolder folder;

    auto load(std::string_view toml, const Environment& environment = {}) {
        return load_config({folder.write("muster.toml", toml), environment});
    }
    // All problems, without the folder's name.
    std::string problems(std::string_view toml, const Environment& environment = {}) {
        const auto loaded = load(toml, environment);
        REQUIRE_FALSE(loaded);
        std::string all;
        for (std::string problem : loaded.error()) {
            if (problem.starts_with(folder.path().string())) problem.erase(0, folder.path().string().size() + 1);
            all += problem + "\n";
        }
        return all;
    }
};

std::string all_of(const std::vector<std::string>& texts) {
    return fmt::format("{}", fmt::join(texts, "\n"));
}

}  // namespace

TEST_CASE("X-1: every key can be set by the file, up to both ends of what is allowed") {
    for (const ConfigKey& key : config_keys()) {
        for (const std::string& good : samples_of(key).good) {
            INFO(key.full_name() << " = " << good);
            ConfigDraft draft;
            read_toml(fmt::format("# first\n[{}]\n{} = {}\n", key.table, key.name, good), "muster.toml", draft);
            CHECK(all_of(draft.problems()) == "");
            CHECK(value_text(key, draft.config) == good);
            CHECK(draft.origins.of(key).to_string() == "muster.toml:3");
        }
    }
}

TEST_CASE("X-1: every key can be set by the environment, up to both ends of what is allowed") {
    for (const ConfigKey& key : config_keys()) {
        for (const std::string& good : samples_of(key).good) {
            const std::string variable = key.environment_variable();
            const std::string value = as_environment_text(good);
            INFO(variable << "=" << value);
            ConfigDraft draft;
            read_environment({{variable, value}}, draft);
            CHECK(all_of(draft.problems()) == "");
            CHECK(value_text(key, draft.config) == good);
            CHECK(draft.origins.of(key).to_string() == variable);
        }
    }
}

TEST_CASE(
    "fault 17: every bad value in a file is refused with file, line, key and what is allowed, and changes nothing") {
    for (const ConfigKey& key : config_keys()) {
        for (const std::string& bad : samples_of(key).bad) {
            INFO(key.full_name() << " = " << bad);
            ConfigDraft draft;
            read_toml(fmt::format("# first\n[{}]\n{} = {}\n", key.table, key.name, bad), "muster.toml", draft);
            REQUIRE(draft.problems().size() == 1);
            const std::string problem = draft.problems()[0];
            CHECK(problem.starts_with(fmt::format("muster.toml:3: {}: ", key.full_name())));
            const bool names_item = std::holds_alternative<RegionsKey>(key.type) ||
                                    std::holds_alternative<CellsKey>(key.type) ||
                                    std::holds_alternative<HostsKey>(key.type);
            if (!names_item) CHECK(problem.ends_with(fmt::format("give {}", allowed_text(key))));
            CHECK(same_value(key, draft.config, Config{}));
        }
    }
}

TEST_CASE("fault 17: every bad value in the environment is refused with its variable, and changes nothing") {
    for (const ConfigKey& key : config_keys()) {
        for (const std::string& bad : samples_of(key).bad) {
            const std::string variable = key.environment_variable();
            const std::string value = as_environment_text(bad);
            INFO(variable << "=" << value);
            // What is bad in a file for its type alone may be good as text.
            const bool any_text = std::holds_alternative<PathKey>(key.type) && !value.empty();
            const auto* line = std::get_if<TextKey>(&key.type);
            if (line && !value.empty() && line->problem(value).empty()) continue;
            const bool plain_number = std::holds_alternative<RealKey>(key.type) && value == "inf";
            if (any_text || plain_number) continue;
            ConfigDraft draft;
            read_environment({{variable, value}}, draft);
            REQUIRE(draft.problems().size() == 1);
            CHECK(draft.problems()[0].starts_with(variable + ": "));
            CHECK(same_value(key, draft.config, Config{}));
        }
    }
}

TEST_CASE("fault 17, X-1: a path that is no UTF-8 is refused, since no file could say it") {
    const ConfigKey& key = *find_key("store", "path");
    ConfigDraft draft;
    read_environment({{"MUSTER_STORE_PATH", "a\xff"}}, draft);
    REQUIRE(draft.problems().size() == 1);
    CHECK(draft.problems()[0].starts_with("MUSTER_STORE_PATH: "));
    CHECK(draft.problems()[0].ends_with("give the path of a file, in UTF-8"));
    CHECK(same_value(key, draft.config, Config{}));
}

TEST_CASE_FIXTURE(Loading, "X-1: without a file and without an environment all is default") {
    const auto loaded = load_config({});
    REQUIRE(loaded);
    CHECK(loaded->warnings.empty());
    for (const ConfigKey& key : config_keys()) {
        CHECK(same_value(key, loaded->config, Config{}));
        CHECK(loaded->origins.of(key).to_string() == "default");
    }
    CHECK(load(""));
}

TEST_CASE_FIXTURE(Loading, "X-1: the environment goes over the file, the file over the default") {
    const auto loaded = load("[fleet]\nheartbeat_interval = \"1s\"\nheartbeat_timeout = \"2s\"\n",
                             {{"MUSTER_FLEET_HEARTBEAT_TIMEOUT", "3s"}, {"PATH", "/bin"}});
    REQUIRE(loaded);
    CHECK(loaded->config.fleet.heartbeat_interval == Duration(1s));
    CHECK(loaded->config.fleet.heartbeat_timeout == Duration(3s));
    CHECK(loaded->config.fleet.token_ttl == Duration(120s));
}

TEST_CASE_FIXTURE(Loading, "X-1: an unknown key or table is refused with its line and the nearest known one") {
    CHECK(problems("\n\n[fleet]\n\n\n\nheartbeat_timout = \"3s\"\n") ==
          "muster.toml:7: fleet.heartbeat_timout: unknown key; did you mean heartbeat_timeout?\n");
    CHECK(problems("[flet]\nheartbeat_timeout = \"3s\"\n") ==
          "muster.toml:1: flet: unknown table; did you mean fleet?\n");
    CHECK(problems("[fleet]\nping_interval = \"3s\"\n") ==
          "muster.toml:2: fleet.ping_interval: unknown key; did you mean players.ping_interval?\n");
    CHECK(problems("heartbeat_enabled = true\n") ==
          "muster.toml:1: heartbeat_enabled: unknown key; did you mean players.heartbeat_enabled?\n");
    CHECK(problems("[fleet]\nbanana = 1\n") == "muster.toml:2: fleet.banana: unknown key\n");
    CHECK(problems("[fleet]\n\"a\\nb\" = 1\n") == "muster.toml:2: fleet.\"a\\nb\": unknown key\n");
    CHECK(problems("fleet = 3\n") == "muster.toml:1: fleet: must be a table; begin it with [fleet]\n");
    CHECK(problems("[[fleet]]\n") == "muster.toml:1: fleet: must be a table; begin it with [fleet]\n");
}

TEST_CASE_FIXTURE(Loading,
                  "X-1: an unknown variable that looks like a key's is refused, the tool's and others' are not") {
    CHECK(problems("", {{"MUSTER_FLEET_HEARTBEAT_TIMOUT", "3s"}}) ==
          "MUSTER_FLEET_HEARTBEAT_TIMOUT: unknown key; did you mean MUSTER_FLEET_HEARTBEAT_TIMEOUT?\n");
    CHECK(problems("", {{"MUSTER_FLET_HEARTBEAT_TIMEOUT", "3s"}}) ==
          "MUSTER_FLET_HEARTBEAT_TIMEOUT: unknown key; did you mean MUSTER_FLEET_HEARTBEAT_TIMEOUT?\n");
    CHECK(problems("", {{"MUSTER_FLEET_", "3s"}}).starts_with("MUSTER_FLEET_: unknown key"));
    CHECK(load("", {{"MUSTER_URL", "x"},
                    {"MUSTER_ADMIN_TOKEN", "y"},
                    {"MUSTER_", ""},
                    {"MUSTER_TESTS", "ON"},
                    {"MUSTERFLEET_X", ""},
                    {"FLEET_HEARTBEAT_TIMEOUT", "x"}}));
}

TEST_CASE_FIXTURE(Loading, "X-1: all problems of a file are told, by line, and those of the environment after them") {
    CHECK(problems("[players]\nping_timeout = \"30s\"\nbyte_order = \"middle\"\n[clock]\nspeed = 0\n[fleet]\nx = 1\n",
                   {{"MUSTER_LOG_LEVEL", "loud"}}) ==
          "muster.toml:2: players.ping_timeout: \"30s\" must be longer than players.ping_interval = \"30s\" (default)\n"
          "muster.toml:3: players.byte_order: \"middle\" is not allowed; give \"big\" or \"little\"\n"
          "muster.toml:5: clock.speed: 0 is not allowed; give a whole number from 1 to 3600\n"
          "muster.toml:7: fleet.x: unknown key\n"
          "MUSTER_LOG_LEVEL: \"loud\" is not allowed; give \"debug\" or \"info\" or \"warning\" or \"warn\" or "
          "\"error\"\n");

    std::string many = "[fleet]\n";
    for (int i = 0; i < 50; ++i) many += fmt::format("x{} = 1\n", i);
    const auto loaded = load(many);
    REQUIRE_FALSE(loaded);
    CHECK(loaded.error().size() == ConfigDraft::problems_shown_max + 1);
    CHECK(loaded.error().back() == "and 30 more");
}

TEST_CASE_FIXTURE(Loading, "fault 17: a file that is not TOML, or cannot be read, is refused by name and line") {
    CHECK(problems("[fleet]\nheartbeat_timeout = \n").starts_with("muster.toml:2: "));
    CHECK(problems("[fleet]\nspeed = 1\nspeed = 2\n").starts_with("muster.toml:3: "));
    CHECK(problems("\xff\xfe").starts_with("muster.toml:1: "));
    CHECK(problems(std::string(100'000, '[')).starts_with("muster.toml:1: "));
    CHECK(problems("[fleet]\nregions = " + std::string(100'000, '[')).starts_with("muster.toml:2: "));
    CHECK(problems(std::string(2 << 20, '#')) == "muster.toml: is larger than 1048576 bytes\n");
    CHECK(load_config({folder.path() / "missing", {}})
              .error()[0]
              .ends_with("missing: cannot be read: No such file or directory"));
    CHECK(load_config({folder.path(), {}}).error()[0].ends_with("is a directory"));
}

TEST_CASE_FIXTURE(Loading,
                  "X-1, fault 17: a pipe or a device in the place of the config is refused, never waited for") {
    const auto pipe = folder.path() / "pipe";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    CHECK(load_config({pipe, {}}).error()[0] == pipe.string() + ": cannot be read: not a regular file");
    CHECK(load_config({std::filesystem::path("/dev/zero"), {}}).error()[0] ==
          "/dev/zero: cannot be read: not a regular file");
}

TEST_CASE_FIXTURE(
    Loading, "X-1: values that cannot stand together are refused where one was set, with the other and its origin") {
    CHECK(problems("[players]\nping_timeout = \"10s\"\nping_interval = \"10s\"\n") ==
          "muster.toml:2: players.ping_timeout: \"10s\" must be longer than players.ping_interval = \"10s\" (" +
              (folder.path() / "muster.toml:3").string() + ")\n");
    CHECK(problems("[players]\nping_interval = \"2m\"\n") ==
          "muster.toml:2: players.ping_interval: \"120s\" must be shorter than players.ping_timeout = \"60s\" "
          "(default)\n");
    CHECK(problems("", {{"MUSTER_PLAYERS_IDLE_KICK_AFTER", "5m"}}) ==
          "MUSTER_PLAYERS_IDLE_KICK_AFTER: \"5m\" must be longer than players.idle_after = \"5m\" (default)\n");
    CHECK(problems("[game]\ntick_rate_milliseconds = 501\n") ==
          "muster.toml:2: game.tick_rate_milliseconds: 501 must be at most game.max_tick_duration_milliseconds = 500 "
          "(default)\n");
    CHECK(problems("[fleet]\nallocation_deadline = \"4999ms\"\n").find("must be at least") != std::string::npos);
    CHECK(problems("[limits]\nunsent_bytes = \"1GiB\"\ntotal_buffers = \"1MiB\"\n").find("must be at least") !=
          std::string::npos);
    CHECK(
        problems("[listen]\nhttp = \"127.0.0.1:11031\"\n") ==
        "muster.toml:2: listen.http: \"127.0.0.1:11031\" is taken by listen.players = \"127.0.0.1:11031\" (default)\n");

    CHECK(load("[players]\nping_timeout = \"10001ms\"\nping_interval = \"10s\"\n"));
    CHECK(load("[game]\ntick_rate_milliseconds = 500\n"));
    CHECK(load("[listen]\nhttp = \"127.0.0.1:0\"\nplayers = \"127.0.0.1:0\"\n"));
}

TEST_CASE_FIXTURE(Loading,
                  "X-1: a heartbeat timeout under its interval is a warning, since peers choose when they beat") {
    const auto loaded = load("", {{"MUSTER_FLEET_HEARTBEAT_TIMEOUT", "3s"}});
    REQUIRE(loaded);
    CHECK(all_of(loaded->warnings) ==
          "fleet.heartbeat_timeout = \"3s\" (MUSTER_FLEET_HEARTBEAT_TIMEOUT) is not longer than "
          "fleet.heartbeat_interval = \"10s\" (default)");
}

TEST_CASE_FIXTURE(Loading, "X-2: a secret in the file is refused, and its value is told nowhere") {
    for (const char* name :
         {"server_token", "matchmaker_token", "admin_token", "http_matchmaker_token", "player_key"}) {
        const std::string told = problems(fmt::format("[auth]\n{} = \"hunter2\"\n", name));
        std::string variable = fmt::format("MUSTER_AUTH_{}", name);
        for (char& c : variable) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
        CHECK(told == fmt::format("muster.toml:2: auth.{}: refused here; secrets come from {} or auth.{}_file\n", name,
                                  variable, name));
    }
    CHECK(problems("[auth]\nserver_tokne = \"hunter2\"\n").find("hunter2") == std::string::npos);
    CHECK(problems("[auth]\nserver_token = \"hunter2\n").find("hunter2") == std::string::npos);
    CHECK(problems("", {{"MUSTER_AUTH_SERVER_TOKNE", "hunter2"}}).find("hunter2") == std::string::npos);
}

TEST_CASE_FIXTURE(Loading, "X-2: secrets come from the environment, or from the files that the config names") {
    const auto file = folder.write("token", "from the file, long enough\n");
    ::chmod(file.c_str(), 0600);
    const std::string toml = fmt::format("[auth]\nserver_token_file = \"{}\"\n", file.string());

    const auto from_file = load(toml);
    REQUIRE(from_file);
    CHECK(from_file->config.auth.server_token.matches("from the file, long enough"));
    CHECK(from_file->warnings.empty());
    CHECK_FALSE(from_file->config.auth.matchmaker_token.is_set());

    const auto from_both = load(toml, {{"MUSTER_AUTH_SERVER_TOKEN", "from the environment"}});
    REQUIRE(from_both);
    CHECK(from_both->config.auth.server_token.matches("from the environment"));

    const auto path_from_environment = load("", {{"MUSTER_AUTH_PLAYER_KEY_FILE", file.native()}});
    REQUIRE(path_from_environment);
    CHECK(path_from_environment->config.auth.player_key.matches("from the file, long enough"));

    ::chmod(file.c_str(), 0644);
    CHECK(load(toml)->warnings.size() == 1);
}

TEST_CASE_FIXTURE(Loading, "X-2: a secret that is empty, too long, unreadable or no text is refused by its key") {
    CHECK(problems("", {{"MUSTER_AUTH_SERVER_TOKEN", ""}}) ==
          "MUSTER_AUTH_SERVER_TOKEN: is empty; unset it, or give it a value\n");
    const std::string too_long(257, 'x');
    CHECK(problems("", {{"MUSTER_AUTH_SERVER_TOKEN", too_long}}) ==
          "MUSTER_AUTH_SERVER_TOKEN: is longer than 256 bytes\n");
    CHECK(load("", {{"MUSTER_AUTH_ADMIN_TOKEN", too_long}}));
    CHECK(problems("", {{"MUSTER_AUTH_MATCHMAKER_TOKEN", "two\nlines of it"}}).find("two") == std::string::npos);
    CHECK(problems("", {{"MUSTER_AUTH_MATCHMAKER_TOKEN", "\xff\xff\xff"}}).find("UTF-8") != std::string::npos);
    CHECK(load("", {{"MUSTER_AUTH_PLAYER_KEY", "\xff\x01 any bytes may sign"}}));

    CHECK(problems("[auth]\n\nserver_token_file = \"/nonexistent/token\"\n") ==
          "muster.toml:3: auth.server_token_file: cannot read /nonexistent/token: No such file or directory\n");
    const auto file = folder.write("token", too_long);
    CHECK(problems("", {{"MUSTER_AUTH_SERVER_TOKEN_FILE", file.native()}}).find("is longer than 256 bytes") !=
          std::string::npos);
}

TEST_CASE_FIXTURE(Loading, "X-2: a short secret is warned about without telling it") {
    const auto loaded = load("", {{"MUSTER_AUTH_SERVER_TOKEN", "hunter2"}});
    REQUIRE(loaded);
    CHECK(all_of(loaded->warnings) == "auth.server_token is shorter than 16 bytes and can be guessed");
}

TEST_CASE("fault 17: random bytes, and a good file with random damage, never do more than be refused") {
    Random random(17);
    const std::string whole = default_config_text();
    for (int round = 0; round < 1'500; ++round) {
        std::string text;
        if (round % 3 == 0) {
            text.resize(random.below(200));
            for (char& c : text) c = static_cast<char>(random.below(256));
        } else {
            // A stretch of the good file, so that the damage is likely to be met.
            text = whole.substr(random.below(whole.size()), 2'000);
            for (std::uint64_t damage = random.below(8); damage > 0 && !text.empty(); --damage) {
                const std::size_t at = random.below(text.size());
                constexpr std::string_view signs = "[]{}=\"'#.,\n\\0-9eE:_\x80\xff";
                if (random.chance(0.5))
                    text[at] = signs[random.below(signs.size())];
                else
                    text.erase(at, 1 + random.below(20));
            }
        }
        ConfigDraft draft;
        read_toml(text, "fuzz.toml", draft);
        read_toml_value(*find_key("fleet", "regions"), text, "MUSTER_FLEET_REGIONS", draft);
        for (const std::string& problem : draft.problems()) CHECK_FALSE(problem.empty());
        if (round % 4 != 0) continue;
        // Whatever was taken is within its limits: it prints, and reads back the same.
        const LoadedConfig loaded{draft.config, draft.origins, {}};
        ConfigDraft again;
        read_toml(effective_config_text(loaded), "again.toml", again);
        CHECK(all_of(again.problems()) == "");
    }
}

TEST_CASE_FIXTURE(Loading, "X-1: the log level may be named as the log prints it") {
    const auto loaded = load("[log]\nlevel = \"warn\"\n");
    REQUIRE(loaded);
    CHECK(loaded->config.log.level == LogLevel::warning);
    CHECK(load("", {{"MUSTER_LOG_LEVEL", "warn"}})->config.log.level == LogLevel::warning);
}

TEST_CASE_FIXTURE(Loading, "X-1: host names are kept in lower case, and more than 32 of them are refused") {
    const auto loaded = load("[listen]\nhttp_hosts = [\"Muster.Example\", \"fleet\"]\n");
    REQUIRE(loaded);
    CHECK(loaded->config.listen.http_hosts == std::vector<std::string>{"muster.example", "fleet"});
    std::string many = "\"a\"";
    for (int i = 0; i < 32; ++i) many += ", \"a\"";
    CHECK(problems(fmt::format("[listen]\nhttp_hosts = [{}]\n", many)).find("at most 32") != std::string::npos);
    CHECK(problems("[listen]\nhttp_hosts = [\"a\", \"b:80\"]\n")
              .find("host 2: must be a name without a port, such as \"muster.example\"") != std::string::npos);
}

TEST_CASE_FIXTURE(Loading, "N-1: a store is a file or a database, never both, and nodes need a database") {
    const auto loaded = load(
        "[store]\nurl = \"postgresql://muster@db1,db2/muster?target_session_attrs=read-write\"\n"
        "[cluster]\nnode = \"muster-1\"\nsilence = \"3s\"\nprefer = [\"main\"]\n");
    REQUIRE(loaded);
    CHECK(loaded->config.store.url == "postgresql://muster@db1,db2/muster?target_session_attrs=read-write");
    CHECK(loaded->config.cluster.node == "muster-1");
    CHECK(loaded->config.cluster.silence == 3s);
    const std::string both = problems("[store]\nurl = \"postgresql://db1/muster\"\npath = \"x.db\"\n");
    CHECK(both.starts_with("muster.toml:2: store.url: is not possible together with store.path = \"x.db\" ("));
    CHECK(both.ends_with("muster.toml:3); leave one of them out\n"));
    CHECK(load("[cluster]\nsilence = \"5s\"\nprefer = []\n"));  // as the default file has it
    CHECK(problems("[cluster]\nnode = \"a\"\n") == "muster.toml:2: cluster.node: means nothing without store.url\n");
    CHECK(problems("[store]\nurl = \"mysql://db1/muster\"\n") ==
          "muster.toml:2: store.url: is no URL that begins with postgresql://; give the URL of a PostgreSQL database, "
          "without a password, such as \"postgresql://muster@db1,db2/muster\"\n");
}

TEST_CASE_FIXTURE(Loading, "N-7, X-1: where other nodes reach this one is a host and a port") {
    const auto load_with = [&](const std::string& address) {
        return load("[store]\nurl = \"postgresql://db1/muster\"\n[cluster]\nadvertise = \"" + address + "\"\n");
    };
    for (const char* good : {"muster-1.example:11030", "10.0.0.1:1", "[2001:db8::1]:65535"}) CHECK(load_with(good));
    for (const char* bad :
         {"http://x y:70000/", "127.0.0.1:99999", "127.0.0.1:0", "127.0.0.1:", ":1", "a b:1", "a/b:1", "a"})
        CHECK_FALSE(load_with(bad));
}

TEST_CASE_FIXTURE(Loading, "N-7: every region is in one cell, and players are in one at least") {
    const std::string store = "[store]\nurl = \"postgresql://db1/muster\"\n";
    const auto refusal = [&](const std::string& more) {
        const std::string all = problems(store + "[cluster]\n" + more + "\n");
        const std::size_t what = all.find("cluster.");
        return what == std::string::npos ? all : all.substr(what);
    };
    const std::string regions = "[fleet]\nregions = [{ id = 9, name = \"B\" }, { id = 2, name = \"A\" }]\n";
    const auto one =
        load(store + regions + "[cluster]\ncells = [{ name = \"all\", regions = [9, 2], players = true }]\n" +
             "prefer = [\"all\"]\n");
    REQUIRE(one);
    CHECK(one->config.cluster.cells == CellPlans{{"all", std::vector<RegionId>{RegionId(2), RegionId(9)}, true}});
    CHECK(refusal("prefer = [\"eu\"]") == "cluster.prefer: there is no cell \"eu\"; there is \"main\"\n");
    CHECK(refusal("cells = [{ name = \"eu\", regions = [2], players = true }]").find("region 0 is in no cell") !=
          std::string::npos);
    CHECK(refusal("cells = [{ name = \"eu\", regions = [0, 1, 2, 9, 11, 15, 77], players = true }]")
              .find("there is no region 77") != std::string::npos);
    const auto several = load(
        store + regions + "[cluster]\ncells = [{ name = \"us\", regions = [9] }, { name = \"eu\", regions = [2] }, " +
        "{ name = \"people-1\", players = true }, { name = \"people-0\", players = true }]\nprefer = [\"us\"]\n");
    REQUIRE(several);
    const std::vector<RegionId> none;
    CHECK(several->config.cluster.cells == CellPlans{{"eu", std::vector<RegionId>{RegionId(2)}, false},
                                                     {"people-0", none, true},
                                                     {"people-1", none, true},
                                                     {"us", std::vector<RegionId>{RegionId(9)}, false}});
    CHECK(refusal("cells = [{ name = \"eu\", regions = [2] }, { name = \"us\", regions = [0] }]") ==
          "cluster.cells: players are in no cell\n");
    CHECK(refusal("cells = [{ name = \"eu\", regions = [2], players = true }, { name = \"us\", regions = [0] }]") ==
          "cluster.cells: region 1 is in no cell\n");
    const std::string all_of_them =
        "cells = [{ name = \"a\", regions = [0, 1, 2, 9, 11, 15] }, "
        "{ name = \"b\", players = true }";
    CHECK(refusal(all_of_them + "]\nprefer = [\"c\"]") ==
          "cluster.prefer: there is no cell \"c\"; there is \"a\" and \"b\"\n");
    CHECK(problems("[cluster]\ncells = [{ name = \"eu\", players = true }]\n").find("means nothing without") !=
          std::string::npos);
}

TEST_CASE_FIXTURE(Loading, "N-1: a password in the URL is refused, and not repeated") {
    for (const std::string url : {"postgresql://muster:hunter2@db1/muster", "postgres://db1/muster?password=hunter2",
                                  "postgresql://muster:hunter2@db1", "postgresql://:hunter2@/muster"}) {
        CAPTURE(url);
        const std::string refused = problems("[store]\nurl = \"" + url + "\"\n");
        CHECK(refused.find("holds a password") != std::string::npos);
        CHECK(refused.find("hunter2") == std::string::npos);
    }
    CHECK(load("[store]\nurl = \"postgresql://muster@db1:5433/muster\"\n"));
    CHECK(load("[store]\nurl = \"postgresql://[::1]:5433/muster\"\n"));
    CHECK(load("[store]\nurl = \"postgresql:///muster?host=/run/postgresql\"\n"));
}

#include "agent/agent_config.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "agent/agent.h"

namespace muster {
namespace {

constexpr std::string_view least_run = "[[run]]\nname = \"arena\"\ncommand = [\"./server\"]\n";

Result<LoadedAgentConfig, AgentConfigProblems> read(std::string_view text, const Environment& environment = {}) {
    return read_agent_config(text, "agent.toml", environment, "host-1");
}

std::string first_problem(std::string_view text, const Environment& environment = {}) {
    const auto loaded = read(text, environment);
    return loaded ? "accepted" : loaded.error().front();
}

// The text of a config in which `key` ("run.count") has that TOML value.
std::string with(const std::string& key, const std::string& value) {
    const std::size_t dot = key.find('.');
    const std::string table = key.substr(0, dot);
    const std::string name = key.substr(dot + 1);
    if (table != "run") return fmt::format("[{}]\n{} = {}\n{}", table, name, value, least_run);
    std::string text = "[[run]]\n";
    if (name != "name") text += "name = \"arena\"\n";
    if (name != "command") text += "command = [\"./server\"]\n";
    if (name == "player_tracking" || name == "counters" || name == "lists") text += "sdk = \"agones\"\n";
    if (name == "ignore_health") text += "sdk = \"gsdk\"\n";
    if (name == "count_max") text += "count = 0\n";
    return text + fmt::format("{} = {}\n", name, value);
}

struct Samples {
    std::vector<std::string> good;
    std::vector<std::string> bad;
};

// The last good value and the first bad one of every key.
const std::map<std::string, Samples>& samples() {
    static const std::map<std::string, Samples> all = {
        {"agent.name", {{"\"a\"", "\"eu-1.example\""}, {"\"\"", "\"-a\"", "\"a b\"", "\"ä\"", "7"}}},
        {"agent.join",
         {{"[\"10.0.0.1:11032\", \"muster.example:1\"]", "[\"[::1]:65535\"]"},
          {"[]", "\"127.0.0.1:1\"", "[\"127.0.0.1\"]", "[\"h:0\"]", "[\"h:65536\"]", "[\":1\"]", "[\"[x]:1\"]",
           "[1]"}}},
        {"agent.address",
         {{"\"\"", "\"192.0.2.1\"", "\"2001:db8::1\""}, {"\"0.0.0.0\"", "\"host\"", "\"224.0.0.1\"", "1"}}},
        {"agent.region", {{"0", "127"}, {"-1", "128", "\"EU\"", "1.0"}}},
        {"agent.ports",
         {{"\"1024-65535\"", "\"7000-7000\""},
          {"\"1023-7000\"", "\"7001-7000\"", "\"7000\"", "\"7000-65536\"", "7000"}}},
        {"agent.state", {{"\"/var/lib/agent\""}, {"\"\"", "1", "\"a\\u0000b\""}}},
        {"agent.metrics", {{"\"\"", "\"127.0.0.1:11035\""}, {"\"11035\"", "\"host:1\"", "1"}}},
        {"run.name", {{"\"x\""}, {"\"\"", "\"a/b\"", "\"..\"", "1"}}},
        {"run.command", {{"[\"./a\", \"\"]"}, {"[]", "[\"\"]", "\"./a\"", "[1]", "[\"a\\u0000\"]"}}},
        {"run.directory", {{"\"/tmp\""}, {"\"\"", "1"}}},
        {"run.env",
         {{"{}", "{ MAP = \"{port}\" }"},
          {"{ 1A = \"\" }", "{ MUSTER_X = \"\" }", "{ PORT = \"1\" }", "{ A = 1 }", "[]"}}},
        {"run.count", {{"0", "1000"}, {"-1", "1001", "\"1\"", "1.5"}}},
        {"run.count_max", {{"1", "1000"}, {"0", "1001", "true"}}},
        {"run.slots", {{"1", "10000"}, {"0", "10001", "\"1\""}}},
        {"run.sdk", {{"\"none\"", "\"muster\"", "\"agones\"", "\"gsdk\""}, {"\"steam\"", "\"\"", "1"}}},
        {"run.cpu", {{"0", "0.5", "1024"}, {"-0.1", "1025", "nan", "\"1\""}}},
        {"run.memory", {{"\"0\"", "\"512MiB\"", "1048576"}, {"-1", "1024", "\"1PB\"", "true"}}},
        {"run.start_timeout", {{"\"1s\"", "\"1d\""}, {"\"999ms\"", "\"2d\"", "5"}}},
        {"run.stop_signal", {{"\"SIGTERM\"", "\"SIGINT\"", "\"SIGKILL\""}, {"\"TERM\"", "\"SIGSTOP\"", "15"}}},
        {"run.stop_grace", {{"\"0ms\"", "\"1d\""}, {"\"2d\"", "0"}}},
        {"run.stop_grace_allocated", {{"\"0ms\"", "\"7d\""}, {"\"8d\"", "1"}}},
        {"run.ready_after", {{"\"\"", "\"0ms\"", "\"1d\""}, {"\"2d\"", "\"x\"", "1"}}},
        {"run.log_size", {{"\"64KiB\"", "\"1GiB\""}, {"\"63KiB\"", "\"2GiB\"", "true"}}},
        {"run.log_files", {{"1", "100"}, {"0", "101", "\"3\""}}},
        {"run.health_period", {{"\"1s\"", "\"1h\""}, {"\"0s\"", "\"2h\"", "5"}}},
        {"run.health_failures", {{"1", "1000"}, {"0", "1001"}}},
        {"run.health_delay", {{"\"0ms\"", "\"1d\""}, {"\"2d\"", "5"}}},
        {"run.labels",
         {{"{}", "{ build = \"42\" }"}, {"{ a = 1 }", "\"a\"", "{ a = \"" + std::string(257, 'x') + "\" }"}}},
        {"run.player_tracking", {{"true", "false"}, {"1", "\"true\""}}},
        {"run.counters",
         {{"{}", "{ rooms = { count = 10, capacity = 10 } }", "{ rooms = { capacity = 0 } }"},
          {"{ rooms = { count = 11, capacity = 10 } }", "{ rooms = {} }", "{ rooms = { capacity = 1, x = 1 } }",
           "{ rooms = 1 }", "[]", "{ rooms = { capacity = -1 } }"}}},
        {"run.lists",
         {{"{}", "{ players = { capacity = 1, values = [\"a\"] } }", "{ players = { capacity = 1000 } }"},
          {"{ players = { capacity = 1, values = [\"a\", \"b\"] } }", "{ players = { capacity = 1001 } }",
           "{ players = { values = [] } }", "{ players = { capacity = 1, values = [1] } }", "1"}}},
        {"run.ignore_health", {{"true"}, {"\"yes\""}}},
        {"auth.server_token_file", {{}, {"\"\"", "1", "\"/no/such/file\""}}},
    };
    return all;
}

TEST_CASE("G-11: every key of the agent's config takes its limits and refuses what lies beyond") {
    std::set<std::string> tried;
    for (const auto& [key, values] : samples()) {
        tried.insert(key);
        for (const std::string& value : values.good) {
            CAPTURE(key);
            CAPTURE(value);
            const std::string ports = "\n[agent]\nports = \"1024-65535\"\n";
            const auto loaded = read(with(key, value) + (key.starts_with("run.") ? ports : ""));
            if (!loaded) CAPTURE(loaded.error().front());
            CHECK(loaded);
        }
        for (const std::string& value : values.bad) {
            CAPTURE(key);
            CAPTURE(value);
            const std::string problem = first_problem(with(key, value));
            CAPTURE(problem);
            CHECK(problem.starts_with("agent.toml:"));
            CHECK(problem.find(key + ": ") != std::string::npos);
            const bool says_what_to_do =
                problem.find("give ") != std::string::npos || problem.find("cannot") != std::string::npos;
            CHECK(says_what_to_do);
        }
    }
    const std::vector<std::string> keys = agent_config_keys();
    CHECK(tried == std::set<std::string>(keys.begin(), keys.end()));
}

TEST_CASE("G-11: a problem names file, line, key, what is allowed and the nearest name") {
    CHECK(first_problem("[[run]]\nname = \"a\"\ncommand = [\"x\"]\ncuont = 1\n") ==
          "agent.toml:4: run.cuont: unknown key; did you mean count?");
    CHECK(first_problem("[agnet]\n") == "agent.toml:1: agnet: unknown table; did you mean agent?");
    CHECK(first_problem("[agent]\nregion = 128\n") ==
          "agent.toml:2: agent.region: 128 is not allowed; give a whole number from 0 to 127");
    CHECK(first_problem("[[run]]\nname = \"a\"\ncommand = [\"x\"]\nsdk = \"agone\"\n") ==
          "agent.toml:4: run.sdk: \"agone\" is not allowed; give \"muster\" or \"agones\" or \"gsdk\" or \"none\"");
    CHECK(first_problem("[agent\n").starts_with("agent.toml:1: "));
    CHECK(first_problem("agent = 1\n") == "agent.toml:1: agent: must be a table; begin it with [agent]");
    CHECK(first_problem("[run]\nname = \"a\"\n") ==
          "agent.toml:1: run: must be a list of 1 to 64 tables; begin each with [[run]]");
}

TEST_CASE("G-11: runs that do not fit together are refused") {
    CHECK(first_problem("[[run]]\n") == "agent.toml:1: run.name: is missing; every run needs a name");
    CHECK(first_problem(std::string(least_run) + std::string(least_run)) ==
          "agent.toml:5: run.name: two runs have the name \"arena\"");
    CHECK(first_problem(std::string(least_run) + "count = 3\ncount_max = 2\n") ==
          "agent.toml:5: run.count_max: 2 must be at least run.count = 3");
    CHECK(first_problem(std::string(least_run) + "sdk = \"none\"\nslots = 2\n")
              .starts_with("agent.toml:5: run.slots: 2 is not allowed with sdk = \"none\""));
    CHECK(first_problem(std::string(least_run) + "player_tracking = true\n") ==
          "agent.toml:4: run.player_tracking: is for sdk = \"agones\" only");
    CHECK(first_problem(std::string(least_run) + "sdk = \"agones\"\nready_after = \"1s\"\n")
              .starts_with("agent.toml:5: run.ready_after: is for sdk = \"none\""));
    CHECK(first_problem("[agent]\nports = \"7000-7001\"\n" + std::string(least_run) + "count = 3\n") ==
          "agent.toml:2: agent.ports: 7000-7001 are 2 ports, and the runs may have 3 processes; give more");
    CHECK(first_problem("[agent]\nports = \"7000-7000\"\n" + std::string(least_run) + "count = 3\n")
              .starts_with("agent.toml:2: agent.ports: 7000-7000 is 1 port, and"));
    CHECK(first_problem(std::string(least_run) + "count = 3\n", {{"MUSTER_AGENT_PORTS", "7000-7001"}})
              .starts_with("MUSTER_AGENT_PORTS: agent.ports: 7000-7001 are 2 ports"));
}

TEST_CASE("G-11: what is wrong in a table of the operator's own names is told by its line and name") {
    const std::string problem =
        first_problem(std::string(least_run) + "[run.env]\nGOOD = \"1\"\n\"NOT-GOOD\" = \"hush\"\n");
    CHECK(problem.starts_with("agent.toml:6: run.env: NOT-GOOD is not allowed; give "));
    CHECK(problem.find("hush") == std::string::npos);
    CHECK(first_problem(std::string(least_run) + "env = { GOOD = \"1\", LEVEL = 5 }\n")
              .starts_with("agent.toml:4: run.env: LEVEL is not allowed; give "));
}

TEST_CASE("G-11: what cannot work on this host is told with file, line and key") {
    const std::string text = "[agent]\nname = \"h\"\n\n[[run]]\nname = \"a.b\"\ncommand = [\"/no/such\"]\n";
    const auto first = [](std::string_view config) {
        const auto loaded = read(config);
        REQUIRE(loaded);
        const std::vector<std::string> problems = problems_of_host(loaded->config);
        return problems.empty() ? std::string() : problems.front();
    };
    CHECK(first(text) == "agent.toml:6: run a.b: command: no such file: /no/such");
    CHECK(first(text + "directory = \"/no/such\"\n") ==
          "agent.toml:7: run a.b: directory: /no/such is not there; give the path of a folder");
    CHECK(first("[agent]\n").starts_with("agent.toml: run: there is nothing to run; begin a run with [[run]]"));
    CHECK(first_problem("[auth]\nserver_token_file = \"/no/such\"\n" + std::string(least_run))
              .starts_with("agent.toml:2: auth.server_token_file: cannot read "));
    CHECK(first_problem(least_run, {{"MUSTER_AUTH_SERVER_TOKEN_FILE", "/no/such"}})
              .starts_with("MUSTER_AUTH_SERVER_TOKEN_FILE: auth.server_token_file: cannot read "));
    const auto loaded = read("[agent]\nstate = \"x\"\n" + std::string(least_run));
    REQUIRE(loaded);
    CHECK(loaded->config.places.told("agent.state", "full") == "agent.toml:2: full");
    CHECK(loaded->config.places.told("agent.metrics", "taken") == "agent.toml: taken");
    CHECK(loaded->config.places.told("run.arena.directory", "gone") == "agent.toml:3: gone");
    CHECK(AgentConfig{}.places.told("run.arena.command", "gone") == "gone");
}

TEST_CASE("G-11: more problems than can be read are counted") {
    std::string text = "[agent]\n";
    for (int i = 0; i < 30; ++i) text += fmt::format("zzzzzz{} = 1\n", i);
    const auto loaded = read(text);
    REQUIRE_FALSE(loaded);
    CHECK(loaded.error().size() == 21);
    CHECK(loaded.error().back() == "and 10 more");
}

TEST_CASE("G-11: what is not given has its default") {
    const auto loaded = read(least_run);
    REQUIRE(loaded);
    const AgentConfig& config = loaded->config;
    CHECK(config.name == "host-1");
    CHECK(config.join == std::vector<std::string>{"127.0.0.1:11032"});
    CHECK(config.ports == PortRange{7000, 7999});
    REQUIRE(config.runs.size() == 1);
    CHECK(config.runs[0].sdk == SdkKind::muster);
    CHECK(config.runs[0].count_max == 1);
    CHECK(config.runs[0].stop_grace == std::chrono::seconds(30));
    const auto three = read(std::string(least_run) + "count = 3\n");
    REQUIRE(three);
    CHECK(three->config.runs[0].count_max == 3);
}

TEST_CASE("G-11: the environment overrides the file and secrets stay out of it") {
    const Environment environment = {{"MUSTER_AGENT_JOIN", "10.0.0.1:1,10.0.0.2:2"},
                                     {"MUSTER_AGENT_REGION", "9"},
                                     {"MUSTER_AUTH_SERVER_TOKEN", "secret"},
                                     {"MUSTER_FLEET_HEARTBEAT_TIMEOUT", "not ours"}};
    const auto loaded = read("[agent]\nregion = 1\n" + std::string(least_run), environment);
    REQUIRE(loaded);
    CHECK(loaded->config.join == std::vector<std::string>{"10.0.0.1:1", "10.0.0.2:2"});
    CHECK(loaded->config.region == RegionId(9));
    CHECK(loaded->config.server_token.matches("secret"));
    CHECK(first_problem(least_run, {{"MUSTER_AGENT_NAEM", "x"}}) ==
          "MUSTER_AGENT_NAEM: unknown key; did you mean name?");
    CHECK(first_problem(least_run, {{"MUSTER_AGENT_PORTS", "x"}}) ==
          "MUSTER_AGENT_PORTS: \"x\" is not allowed; give a range of ports from 1024 to 65535, such as \"7000-7999\"");
    CHECK(first_problem("[auth]\nserver_token = \"hush\"\n") ==
          "agent.toml:2: auth.server_token: refused here; secrets come from MUSTER_AUTH_SERVER_TOKEN or "
          "auth.server_token_file");
    const std::string empty = first_problem(least_run, {{"MUSTER_AUTH_SERVER_TOKEN", ""}});
    CHECK(empty == "MUSTER_AUTH_SERVER_TOKEN: give 1 to 256 bytes of UTF-8");
}

TEST_CASE("G-11: a machine whose name does not do needs one in the config") {
    const auto loaded = read_agent_config(least_run, "agent.toml", {}, "my host");
    REQUIRE_FALSE(loaded);
    CHECK(loaded.error()[0].starts_with("agent.toml: agent.name: this machine's name \"my host\" does not do"));
}

TEST_CASE("G-11: a file that is none is told as such") {
    const auto missing = load_agent_config("/no/such/agent.toml", {}, "host-1");
    REQUIRE_FALSE(missing);
    CHECK(missing.error()[0] == "/no/such/agent.toml: cannot be read: No such file or directory");
    const auto folder = load_agent_config("/", {}, "host-1");
    REQUIRE_FALSE(folder);
    CHECK(folder.error()[0] == "/: is a directory");
}

}  // namespace
}  // namespace muster

// The agent's own config: where Muster is, which ports there are, and what runs here. Commands stand nowhere else
// (G-3).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/run_config.h"
#include "base/ids.h"
#include "base/result.h"
#include "config/config_environment.h"
#include "config/listen_address.h"
#include "config/secrets.h"

namespace muster {

// Where each key was given: "agent.toml:7", or the variable that it came from.
class ConfigPlaces {
public:
    ConfigPlaces() = default;
    explicit ConfigPlaces(std::string file) : file_(std::move(file)) {}

    // `key` is "agent.state", "auth.server_token_file", "run.arena" or "run.arena.command".
    void set(std::string key, std::string place) { places_[std::move(key)] = std::move(place); }
    // The text for an operator, behind the place where the key was given; one that was not given stands for its run,
    // or for the file. The text alone when there is no file.
    std::string told(std::string_view key, std::string_view text) const;

private:
    std::string file_;
    std::map<std::string, std::string, std::less<>> places_;
};

// A plain value. load_agent_config() makes one that is whole and within its limits.
struct AgentConfig {
    std::string name;  // of this host; the machine's own name when it is not given
    std::vector<std::string> join = {"127.0.0.1:11032"};
    std::string address;  // where players reach this host; empty: the local address of the link
    RegionId region{0};
    PortRange ports;
    std::string state = "muster-agent";
    std::optional<ListenAddress> metrics;
    std::vector<RunConfig> runs;

    Secrets server_token;
    std::string server_token_file;

    ConfigPlaces places;
};

struct LoadedAgentConfig {
    AgentConfig config;
    std::vector<std::string> warnings;
};

// One line each, for the operator: `agent.toml:7: run.cuont: unknown key; did you mean count?`
using AgentConfigProblems = std::vector<std::string>;

// Reads the file, then MUSTER_AGENT_* and MUSTER_AUTH_SERVER_TOKEN over it, then the token's file. Fails with all that
// is wrong. Never says a secret. `host_name` stands for [agent] name when that is not given.
Result<LoadedAgentConfig, AgentConfigProblems> load_agent_config(const std::filesystem::path& file,
                                                                 const Environment& environment,
                                                                 std::string_view host_name);

// The same for text; `file` stands for it in what is told.
Result<LoadedAgentConfig, AgentConfigProblems> read_agent_config(std::string_view text, std::string_view file,
                                                                 const Environment& environment,
                                                                 std::string_view host_name);

// Every key that may stand in the file, for the reference and the tests: "agent.name", "run.count" …
std::vector<std::string> agent_config_keys();

// "none", "muster", "agones", "gsdk".
std::string_view to_string(SdkKind kind);
std::optional<SdkKind> sdk_kind_named(std::string_view name);
// "7000-7999"; ports below 1024 are not given to games.
std::optional<PortRange> parse_port_range(std::string_view text);

// What hosts, runs and the like may be called: 1 to 63 of a-z A-Z 0-9 . _ -, the first and the last a letter or digit.
bool is_plain_name(std::string_view name);

}  // namespace muster

// The agent: one loop around the supervisor, this machine and Muster (G-1).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "agent/agent_config.h"
#include "config/config_environment.h"

namespace muster {

struct AgentOptions {
    std::filesystem::path file;  // read again at SIGHUP; empty: there is none
    Environment environment;
    std::string host_name;
    std::vector<std::string> warnings;
    // SIGTERM ends the processes too, as SIGINT does (`muster up`). Otherwise it leaves them to the next agent.
    bool term_ends_all = false;
};

// Why the first word of a command is no program that can be run from `directory`; none when it can.
std::optional<std::string> problem_of_program(const std::string& word, const std::filesystem::path& directory);

// What only this machine can tell about the config: commands and folders that are not there. One line each.
std::vector<std::string> problems_of_host(const AgentConfig& config);

// Runs until SIGTERM or SIGQUIT (the processes go on and the next agent adopts them) or SIGINT (they are ended, matches
// first; a second one does not wait for matches). Returns the exit code; a failure to start has been told on standard
// error.
int run_agent(const AgentConfig& config, const AgentOptions& options);

}  // namespace muster

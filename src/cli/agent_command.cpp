// `muster agent`: runs the game servers of this host.
#include <array>
#include <memory>
#include <string>

#include <unistd.h>

#include "agent/agent.h"
#include "cli/commands.h"
#include "cli/standard_output.h"
#include "process/exit_code.h"

namespace muster {
namespace {

constexpr const char* agent_notes =
    R"(Only this file names commands to run. Muster can list, restart, drain and count processes, never send a command.
MUSTER_AGENT_NAME, _JOIN, _ADDRESS, _REGION, _PORTS, _STATE override [agent]; the token that Muster asks of game
servers comes from MUSTER_AUTH_SERVER_TOKEN or auth.server_token_file.

Ctrl-C (SIGINT) ends all processes, their matches first; a second one does not wait. SIGTERM ends the agent alone: its
processes run on, and the next agent adopts them. SIGHUP reads the config again.
)";

struct AgentArguments {
    std::string config;
    bool ends_all = false;
};

std::string machine_name() {
    std::array<char, 256> name{};
    return gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : std::string();
}

int run(const AgentArguments& arguments) {
    AgentOptions options{.file = arguments.config,
                         .environment = process_environment(),
                         .host_name = machine_name(),
                         .warnings = {},
                         .term_ends_all = arguments.ends_all};
    auto loaded = load_agent_config(options.file, options.environment, options.host_name);
    if (!loaded) {
        print_problems(loaded.error());
        return to_int(ExitCode::config);
    }
    options.warnings = std::move(loaded->warnings);
    return run_agent(loaded->config, options);
}

}  // namespace

Command agent_command() {
    const auto arguments = std::make_shared<AgentArguments>();
    CommandOption config{"--config", "FILE", "The agent's config (TOML)", &arguments->config, true};
    config.is_file = true;
    return {"agent",
            "Run the game servers of this host",
            {config, {"--ends-all", "", "SIGTERM ends the processes too, their matches first", &arguments->ends_all}},
            agent_notes,
            [arguments] { return run(*arguments); },
            true};
}

}  // namespace muster

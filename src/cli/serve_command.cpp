// `muster serve`: checks the config and runs the daemon in the foreground.
#include <memory>
#include <optional>
#include <utility>

#include "cli/commands.h"
#include "cli/standard_output.h"
#include "config/config_load.h"
#include "config/config_serving.h"
#include "daemon/daemon.h"
#include "process/exit_code.h"

namespace muster {
namespace {

constexpr const char* serve_notes =
    R"(Without --config the defaults are used, and no file is looked for. Either way the environment overrides them:
MUSTER_LISTEN_HTTP=127.0.0.1:8080 sets http of [listen]. Secrets come from MUSTER_AUTH_SERVER_TOKEN,
_MATCHMAKER_TOKEN, _ADMIN_TOKEN and _PLAYER_KEY, from files that the config names, or from systemd's credentials; never
from the command line.

SIGTERM and Ctrl-C stop it, SIGHUP reads the config again.
)";

struct ServeArguments {
    std::optional<std::string> config;
    std::optional<std::string> ports_file;
};

int serve(const ServeArguments& arguments) {
    ConfigSource source{arguments.config, process_environment()};
    auto loaded = load_config(source);
    if (!loaded) {
        print_problems(loaded.error());
        return to_int(ExitCode::config);
    }
    const auto problems = problems_of_serving(loaded->config);
    if (!problems.empty()) {
        print_problems(problems);
        return to_int(ExitCode::config);
    }
    return run_daemon(loaded->config, {std::move(source), std::move(loaded->warnings), arguments.ports_file});
}

}  // namespace

Command serve_command() {
    const auto arguments = std::make_shared<ServeArguments>();
    CommandOption config{"--config", "FILE", "The config file (TOML)", &arguments->config};
    config.is_file = true;
    CommandOption ports_file{"--ports-file", "FILE", "File to write the bound addresses to, as JSON, once ready",
                             &arguments->ports_file};
    ports_file.is_file = true;
    return {"serve",     "Run the daemon in the foreground",        {config, ports_file},
            serve_notes, [arguments] { return serve(*arguments); }, true};
}

}  // namespace muster

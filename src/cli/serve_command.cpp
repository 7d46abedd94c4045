#include "cli/serve_command.h"

#include <utility>

#include "cli/standard_output.h"
#include "daemon/config_load.h"
#include "daemon/config_serving.h"
#include "daemon/daemon.h"
#include "daemon/exit_code.h"

namespace muster {

int serve_command(const ServeArguments& arguments) {
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

}  // namespace muster

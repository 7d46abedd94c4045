// `muster config`: the effective config with where each value came from, or the default file.
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/listing.h"
#include "cli/standard_output.h"
#include "config/config_load.h"
#include "config/config_print.h"
#include "config/config_serving.h"
#include "process/exit_code.h"

namespace muster {
namespace {

struct Arguments {
    std::optional<std::string> config;
    bool default_file = false;
    bool reference = false;
    bool json = false;
};

int print_effective(const Arguments& arguments) {
    const auto loaded = load_config({arguments.config, process_environment()});
    if (!loaded) {
        print_problems(loaded.error());
        return to_int(ExitCode::config);
    }
    print_problems(loaded->warnings);
    // It is printed all the same: whoever asks may be looking for just this.
    print_problems(problems_of_serving(loaded->config));
    return arguments.json ? print_json(effective_config_json(*loaded))
                          : to_int(print_result(effective_config_text(*loaded)));
}

int print(const Arguments& arguments) {
    if (arguments.default_file) return to_int(print_result(default_config_text()));
    if (arguments.reference) return to_int(print_result(config_reference()));
    return print_effective(arguments);
}

}  // namespace

Command config_command() {
    const auto arguments = std::make_shared<Arguments>();
    CommandOption file{"--config", "FILE", "The config file (TOML)", &arguments->config};
    file.is_file = true;
    CommandOption defaults{"--default", "", "Print a config file with every key at its default",
                           &arguments->default_file};
    CommandOption reference{"--markdown", "", "Print the reference of all keys as Markdown", &arguments->reference};
    CommandOption json{"--json", "", "JSON instead of TOML", &arguments->json};
    defaults.excludes = {"--config", "--markdown"};
    reference.excludes = {"--config"};
    json.excludes = {"--default", "--markdown"};
    return {"config",
            "Show the effective config and where each value came from",
            {file, defaults, reference, json},
            "Without --config, shows the defaults and the environment's overrides. Secrets are shown only as set or "
            "not set.\n",
            [arguments] { return print(*arguments); }};
}

}  // namespace muster

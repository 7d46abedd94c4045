#include "cli/config_command.h"

#include "cli/standard_output.h"
#include "daemon/config_load.h"
#include "daemon/config_print.h"
#include "daemon/config_serving.h"
#include "daemon/exit_code.h"

namespace muster {
namespace {

int print_effective(const ConfigArguments& arguments) {
    const auto loaded = load_config({arguments.config, process_environment()});
    if (!loaded) {
        print_problems(loaded.error());
        return to_int(ExitCode::config);
    }
    print_problems(loaded->warnings);
    // It is printed all the same: whoever asks may be looking for just this.
    print_problems(problems_of_serving(loaded->config));
    return to_int(print_result(effective_config_text(*loaded)));
}

}  // namespace

int config_command(const ConfigArguments& arguments) {
    switch (arguments.what) {
        case ConfigArguments::What::default_file:
            return to_int(print_result(default_config_text()));
        case ConfigArguments::What::reference:
            return to_int(print_result(config_reference()));
        case ConfigArguments::What::effective:
            break;
    }
    return print_effective(arguments);
}

}  // namespace muster

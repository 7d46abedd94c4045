// `muster config`: the effective config with where each value came from, the default file, or whether a file is right.
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "base/system_clock.h"
#include "cli/commands.h"
#include "cli/listing.h"
#include "cli/standard_output.h"
#include "config/config_check.h"
#include "config/config_load.h"
#include "config/config_print.h"
#include "config/config_serving.h"
#include "process/exit_code.h"

namespace muster {
namespace {

struct ConfigArguments {
    std::optional<std::string> config;
    std::optional<std::string> check;
    bool default_file = false;
    bool reference = false;
    bool json = false;
};

int print_effective(const ConfigArguments& arguments) {
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

std::string_view state_text(ConfigCheck::SecretFound::State state) {
    using enum ConfigCheck::SecretFound::State;
    switch (state) {
        case set:
            return "set";
        case not_set:
            break;
        case not_readable:
            return "not checked, this user may not read it";
        case wrong:
            return "wrong";
    }
    return "not set";
}

// A secret that is not set is no error where the config does without it.
std::string secret_text(const ConfigCheck::SecretFound& secret, bool is_ok) {
    if (secret.state != ConfigCheck::SecretFound::State::not_set)
        return fmt::format("{}: {}", state_text(secret.state), secret.text);
    return fmt::format("{} ({})", is_ok ? "not set, not required" : "not set", secret.text);
}

int check(const std::string& file) {
    const ConfigCheck found = check_config({file, process_environment()}, SystemClock().wall());
    print_problems(found.problems);
    for (const std::string& warning : found.warnings) print_error("warning: {}\n", warning);
    std::string text = fmt::format(
        "{}: {}\n", file,
        found.problems.empty() ? "ok" : "the daemon would not start with it; a reload would keep the old config");
    for (const ConfigCheck::SecretFound& secret : found.secrets)
        text += fmt::format("  {:<23}{}\n", secret.key, secret_text(secret, found.problems.empty()));
    for (const ConfigCheck::CertificateFound& found_certificate : found.certificates)
        text += fmt::format("  {:<23}{}\n", found_certificate.key, found_certificate.text);
    const int printed = to_int(print_result(text));
    return found.problems.empty() ? printed : to_int(ExitCode::config);
}

int print(const ConfigArguments& arguments) {
    if (arguments.check) return check(*arguments.check);
    if (arguments.default_file) return to_int(print_result(default_config_text()));
    if (arguments.reference) return to_int(print_result(config_reference()));
    return print_effective(arguments);
}

}  // namespace

Command config_command() {
    const auto arguments = std::make_shared<ConfigArguments>();
    CommandOption file{"--config", "FILE", "The config file (TOML)", &arguments->config};
    file.is_file = true;
    CommandOption check_file{
        "--check", "FILE", "Check a config file before a restart or reload; exit 78 if it is wrong", &arguments->check};
    check_file.is_file = true;
    CommandOption defaults{"--default", "", "Print a config file with every key at its default",
                           &arguments->default_file};
    CommandOption reference{"--markdown", "", "Print the reference of all keys as Markdown", &arguments->reference};
    CommandOption json{"--json", "", "JSON instead of TOML", &arguments->json};
    check_file.excludes = {"--config"};
    defaults.excludes = {"--config", "--check", "--markdown"};
    reference.excludes = {"--config", "--check"};
    json.excludes = {"--check", "--default", "--markdown"};
    return {"config",
            "Show the effective config and where each value came from",
            {file, check_file, defaults, reference, json},
            "Without --config, shows the defaults and the environment's overrides. Secrets are shown only as set or "
            "not set.\n"
            "--check needs no more than permission to read FILE, and says where each secret was looked for. It looks "
            "into\n"
            "the folder `secrets` beside FILE, from which systemd hands the service its credentials.\n",
            [arguments] { return print(*arguments); }};
}

}  // namespace muster

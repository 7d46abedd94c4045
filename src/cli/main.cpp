// The program `muster`: reads the command line and hands over to the command's own file.

#include <algorithm>
#include <cstdio>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/config_command.h"
#include "cli/player_token_command.h"
#include "cli/protocol_command.h"
#include "cli/serve_command.h"
#include "daemon/exit_code.h"
#include "daemon/nearest_name.h"
#include "daemon/version.h"

namespace {

using muster::ExitCode;
using muster::to_int;

constexpr const char* about =
    "Muster keeps an online game's fleet honest: it knows which game servers live, hands each match to the best one,\n"
    "lets players in and keeps everyone on one clock.";

constexpr const char* after_help = R"(Examples:
  muster config --default > muster.toml     write a config to start from
  muster serve --config muster.toml         run with it, in the foreground
  MUSTER_LOG_LEVEL=debug muster serve       run on the defaults but for one key
  muster config --config muster.toml        show every setting and where it came from

Exit codes:
  0 stopped as asked   64 bad flag or command   65 store damaged   69 port cannot be opened
  70 internal error    73 store in use          74 disk failed     78 config wrong or not safe to serve with
)";

constexpr const char* after_serve_help =
    R"(Without --config the defaults are used, and no file is looked for. Either way the environment goes over it:
MUSTER_FLEET_HEARTBEAT_TIMEOUT=3s sets heartbeat_timeout of [fleet]. Secrets come from MUSTER_AUTH_SERVER_TOKEN,
_MANAGER_TOKEN, _ADMIN_TOKEN and _PLAYER_KEY, or from files that the config names; never from the command line.

SIGTERM and Ctrl-C stop it, SIGHUP reads the config again.
)";

constexpr const char* after_config_help =
    R"(Without --config the defaults are shown, with what the environment changes. A secret is shown as set or not set.
)";

constexpr const char* after_player_token_help =
    R"(The key is the one that the daemon has: from MUSTER_AUTH_PLAYER_KEY, or from the file that the config names.
  MUSTER_AUTH_PLAYER_KEY=… muster player-token Ann --account 7 --for 1h
)";

// What the command line asks for.
struct CommandLine {
    CommandLine() {
        app.set_version_flag("--version", fmt::format("muster {}", muster::version()), "Show the version");
        for (CLI::App* each : {&app, serve, config, protocol, player_token})
            each->set_help_flag("-h,--help", "Show this help");
        app.require_subcommand(1);
        app.footer(after_help);

        serve->add_option("--config", serve_arguments.config, "The config file (TOML)")->type_name("FILE");
        serve->add_option("--ports-file", serve_arguments.ports_file, "Gets the bound addresses as JSON once ready")
            ->type_name("FILE");
        serve->footer(after_serve_help);

        auto* file = config->add_option("--config", config_arguments.config, "The config file (TOML)");
        file->type_name("FILE");
        auto* defaults =
            config->add_flag("--default", print_default, "Print a config file with every key at its default");
        auto* reference =
            config->add_flag("--markdown", print_reference, "Print the reference of all keys as Markdown");
        defaults->excludes(file)->excludes(reference);
        reference->excludes(file);
        config->footer(after_config_help);

        player_token->add_option("NAME", player_token_arguments.name, "The player's name")->required();
        player_token->add_option("--account", player_token_arguments.account, "The player's id, from 1 on")
            ->type_name("N")
            ->required();
        player_token->add_option("--for", player_token_arguments.valid_for, "How long it is good: 30s, 10m, 1h, 7d")
            ->type_name("TIME")
            ->capture_default_str();
        player_token->add_option("--config", player_token_arguments.config, "The config file that names the key's file")
            ->type_name("FILE");
        player_token->footer(after_player_token_help);
    }

    CLI::App app{about, "muster"};
    CLI::App* serve = app.add_subcommand("serve", "Run the daemon in the foreground");
    CLI::App* config = app.add_subcommand("config", "Show the effective config and where each value came from");
    CLI::App* protocol = app.add_subcommand("protocol", "Show the messages of the game ports, byte by byte");
    CLI::App* player_token = app.add_subcommand("player-token", "Make a signed credential for a player");

    muster::ServeArguments serve_arguments;
    muster::ConfigArguments config_arguments;
    muster::PlayerTokenArguments player_token_arguments;
    bool print_default = false;
    bool print_reference = false;
};

std::vector<std::string> flags_of(const CLI::App& command) {
    std::vector<std::string> flags;
    for (const CLI::Option* option : command.get_options())
        for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
    return flags;
}

std::string did_you_mean(std::string_view typed, std::span<const std::string> known) {
    const auto nearest = muster::nearest_name(typed, known);
    return nearest ? fmt::format("; did you mean {}?", *nearest) : std::string();
}

// The first argument that is no known flag or command, in words. What follows a flag is never repeated: it may be a
// secret that does not belong there.
std::string complaint(const CommandLine& line, std::span<char* const> arguments, const CLI::ParseError& error) {
    const CLI::App* command = &line.app;
    std::vector<std::string> commands;
    for (const CLI::App* each : line.app.get_subcommands({})) commands.push_back(each->get_name());

    for (const char* raw : arguments) {
        const std::string_view argument(raw);
        const std::string_view flag = argument.substr(0, argument.find('='));
        if (argument.starts_with('-')) {
            const std::vector<std::string> known = flags_of(*command);
            const bool is_known = flag == "-h" || std::find(known.begin(), known.end(), flag) != known.end();
            if (!is_known) return fmt::format("unknown flag {}{}", flag, did_you_mean(flag, known));
        } else if (command == &line.app) {
            if (std::find(commands.begin(), commands.end(), argument) == commands.end())
                return fmt::format("unknown command {}{}", argument, did_you_mean(argument, commands));
            command = line.app.get_subcommand(std::string(argument));
        }
    }
    if (dynamic_cast<const CLI::ExtrasError*>(&error)) return "too many arguments";
    if (command == &line.app && dynamic_cast<const CLI::RequiredError*>(&error)) return "a command is needed";
    return error.what();
}

int usage_error(const CommandLine& line, std::span<char* const> arguments, const CLI::ParseError& error) {
    fmt::print(stderr, "muster: {}\n\nUsage: muster COMMAND [FLAGS]\n", complaint(line, arguments, error));
    for (const CLI::App* command : line.app.get_subcommands({}))
        fmt::print(stderr, "  muster {:<12} {}\n", command->get_name(), command->get_description());
    fmt::print(stderr, "`muster --help` and `muster COMMAND --help` say more.\n");
    return to_int(ExitCode::usage);
}

int run(int argc, char** argv) {
    CommandLine line;
    try {
        line.app.parse(argc, argv);
    } catch (const CLI::Success& asked) {  // --help, --version
        return line.app.exit(asked);
    } catch (const CLI::ParseError& error) {
        return usage_error(line, std::span(argv + 1, argv + argc), error);
    }
    if (line.serve->parsed()) return muster::serve_command(line.serve_arguments);
    if (line.config->parsed()) {
        using What = muster::ConfigArguments::What;
        if (line.print_default) line.config_arguments.what = What::default_file;
        if (line.print_reference) line.config_arguments.what = What::reference;
        return muster::config_command(line.config_arguments);
    }
    if (line.player_token->parsed()) return muster::player_token_command(line.player_token_arguments);
    return muster::protocol_command();
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const std::exception& failure) {
        fmt::print(stderr, "muster: {}\n", failure.what());
        return to_int(ExitCode::internal);
    }
}

// The program `muster`: reads the command line and hands over to the command's own file.

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <variant>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "agent/keeper.h"
#include "base/safe_text.h"
#include "cli/command.h"
#include "cli/program.h"
#include "cli/standard_output.h"
#include "cli/usage_line.h"
#include "config/nearest_name.h"
#include "process/exit_code.h"
#include "process/signals.h"

namespace {

using muster::Command;
using muster::CommandOption;
using muster::ExitCode;
using muster::print_error;
using muster::to_int;

template <class Value>
constexpr bool is_integer = std::is_same_v<Value, std::int64_t> || std::is_same_v<Value, std::optional<std::int64_t>> ||
                            std::is_same_v<Value, std::vector<std::int64_t>>;

// What is wrong with it, if anything; the parser puts the option's name before it.
std::string whole_number(const std::string& text) {
    std::int64_t value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool good = failure == std::errc() && end == text.data() + text.size();
    return good ? "" : "a whole number is wanted, such as 7";
}

std::string did_you_mean(std::string_view typed, std::span<const std::string> known) {
    const auto nearest = muster::nearest_name(typed, known);
    return nearest ? fmt::format("; did you mean {}?", *nearest) : std::string();
}

// Takes these values alone; the help lists them, and the refusal names the nearest.
CLI::Validator one_of(const std::vector<std::string>& choices) {
    const auto check = [choices](const std::string& typed) -> std::string {
        if (std::find(choices.begin(), choices.end(), typed) != choices.end()) return {};
        return fmt::format("{} is none of {}{}", typed, fmt::join(choices, ", "), did_you_mean(typed, choices));
    };
    return {check, fmt::format("{{{}}}", fmt::join(choices, ","))};
}

CLI::Option* add_option(CLI::App& parser, const CommandOption& option) {
    return std::visit(
        [&](auto* target) -> CLI::Option* {
            using Value = std::remove_pointer_t<decltype(target)>;
            if constexpr (std::is_same_v<Value, bool>) {
                return parser.add_flag(option.name, *target, option.help);
            } else {
                CLI::Option* added = parser.add_option(option.name, *target, option.help);
                if (!option.value.empty() && !option.is_place()) added->type_name(option.value);
                if constexpr (is_integer<Value>) added->check(whole_number);
                // A flag that may be repeated takes one value each time, and leaves what follows alone.
                if (!option.is_place() && option.takes_many()) added->allow_extra_args(false);
                if constexpr (std::is_same_v<Value, std::string> || std::is_same_v<Value, std::int64_t>)
                    if (!option.required && !option.is_place()) added->capture_default_str();
                return added;
            }
        },
        option.target);
}

// A heading and its lines, the texts below each other.
std::string help_list(const char* heading, const std::vector<muster::HelpLine>& lines) {
    std::size_t widest = 0;
    for (const muster::HelpLine& line : lines) widest = std::max(widest, line.about.size());
    std::string text = fmt::format("{}:\n", heading);
    for (const muster::HelpLine& line : lines) text += fmt::format("  {:<{}}  {}\n", line.about, widest, line.text);
    return text;
}

// The parser's own help, but in our words: the usage line says what is required and what excludes what, so that the
// list of flags says only what each takes and does.
class CommandHelp : public CLI::Formatter {
public:
    explicit CommandHelp(std::string usage) : usage_(std::move(usage)) { label("Positionals", "Arguments"); }

    std::string make_usage(const CLI::App*, std::string) const override { return fmt::format("\nUsage: {}\n", usage_); }

    std::string make_option_opts(const CLI::Option* option) const override {
        if (option->get_type_size() == 0) return {};
        const std::string type = option->get_type_name();  // "N", "KEY:{id,load}"; "TEXT:{bash,zsh}" of an argument
        if (!option->get_positional()) return " " + type;
        const std::size_t choices = type.find(":{");
        return choices == std::string::npos ? "" : " " + type.substr(choices + 1);
    }

    std::string make_option_desc(const CLI::Option* option) const override {
        const std::string usual = option->get_default_str();
        return usual.empty() ? option->get_description()
                             : fmt::format("{} (default {})", option->get_description(), usual);
    }

private:
    std::string usage_;
};

void add_command(CLI::App& app, const Command& command) {
    CLI::App* parser = app.add_subcommand(command.name, command.summary)->group("Commands");
    parser->formatter(std::make_shared<CommandHelp>(muster::usage_line(command)));
    parser->set_help_flag("-h,--help", "Show this help");
    parser->footer(command.notes);
    std::map<std::string, CLI::Option*> added;
    for (const CommandOption& option : command.options) {
        CLI::Option* one = add_option(*parser, option);
        if (option.required) one->required();
        if (!option.choices.empty()) one->check(one_of(option.choices));
        added[option.name] = one;
    }
    for (const CommandOption& option : command.options)
        for (const std::string& other : option.excludes) added.at(option.name)->excludes(added.at(other));
}

std::vector<std::string> flags_of(const CLI::App& command) {
    std::vector<std::string> flags;
    for (const CLI::Option* option : command.get_options())
        for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
    return flags;
}

// The first argument that is no known flag or command, in words. What follows a flag is never repeated: it may be a
// secret that does not belong there.
std::string complaint(const CLI::App& app, std::span<const char* const> arguments, const CLI::ParseError& error) {
    const CLI::App* command = &app;
    std::vector<std::string> commands;
    for (const CLI::App* each : app.get_subcommands({})) commands.push_back(each->get_name());

    for (const char* raw : arguments) {
        const std::string_view argument(raw);
        const std::string_view flag = argument.substr(0, argument.find('='));
        if (argument == "--") break;
        if (argument.starts_with('-')) {
            const std::vector<std::string> known = flags_of(*command);
            const bool is_known = flag == "-h" || std::find(known.begin(), known.end(), flag) != known.end();
            if (!is_known) return fmt::format("unknown flag {}{}", flag, did_you_mean(flag, known));
        } else if (command == &app) {
            if (std::find(commands.begin(), commands.end(), argument) == commands.end())
                return fmt::format("unknown command {}{}", argument, did_you_mean(argument, commands));
            command = app.get_subcommand(std::string(argument));
        }
    }
    if (dynamic_cast<const CLI::ExtrasError*>(&error)) return "too many arguments";
    if (command == &app && dynamic_cast<const CLI::RequiredError*>(&error)) return "a command is needed";
    return error.what();
}

// The command that was meant: the first word that is no flag, if it names one.
const Command* command_in(const muster::Program& program, std::span<const char* const> arguments) {
    const auto word = std::find_if(arguments.begin(), arguments.end(),
                                   [](const char* each) { return !std::string_view(each).starts_with('-'); });
    if (word == arguments.end()) return nullptr;
    for (const Command& command : program.commands)
        if (command.name == *word) return &command;
    return nullptr;
}

int usage_error(const CLI::App& app, const muster::Program& program, std::span<const char* const> arguments,
                const CLI::ParseError& error) {
    const std::string wrong = muster::safe_text(complaint(app, arguments, error));
    if (const Command* command = command_in(program, arguments)) {
        print_error("muster: {}\n\nUsage: {}\n`muster {} --help` says more.\n", wrong, muster::usage_line(*command),
                    command->name);
        return to_int(ExitCode::usage);
    }
    if (!arguments.empty()) {
        print_error("muster: {}\n`muster --help` lists all commands.\n", wrong);
        return to_int(ExitCode::usage);
    }
    print_error("muster: {}\n\nUsage: muster COMMAND [FLAGS]\n", wrong);
    for (const CLI::App* command : app.get_subcommands({}))
        print_error("  muster {:<12} {}\n", command->get_name(), command->get_description());
    print_error("`muster --help` and `muster COMMAND --help` say more.\n");
    return to_int(ExitCode::usage);
}

// What the parser is given: `muster help`, `muster help COMMAND` and `muster version` as flags. Of a command that does
// not exist the word alone, since a --help behind it would pass for that of the whole program.
std::vector<const char*> for_parser(const muster::Program& program, std::span<char* const> typed) {
    std::vector<const char*> words(typed.begin(), typed.end());
    if (words.size() == 1 && std::string_view(words[0]) == "version") return {"--version"};
    if (!words.empty() && words.size() <= 2 && std::string_view(words[0]) == "help") {
        words.erase(words.begin());
        words.push_back("--help");
    }
    const bool is_command = !words.empty() && !std::string_view(words[0]).starts_with('-');
    if (is_command && command_in(program, words) == nullptr) words.resize(1);
    return words;
}

int run(std::span<char* const> typed) {
    const muster::Program program = muster::whole_program();
    const std::vector<const char*> arguments = for_parser(program, typed);
    CLI::App app{program.about, program.name};
    app.set_version_flag("--version", fmt::format("{} {}", program.name, program.version), "Show the version");
    app.set_help_flag("-h,--help", "Show this help");
    app.require_subcommand(1);
    app.formatter(std::make_shared<CommandHelp>("muster COMMAND [FLAGS]"));
    app.footer(help_list("Examples", program.examples) + "\n" + help_list("Environment", program.environment) + "\n" +
               help_list("Exit codes", program.exit_codes));
    for (const Command& command : program.commands) add_command(app, command);
    try {
        // The parser takes them from the last to the first.
        app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    } catch (const CLI::Success& asked) {  // --help, --version
        std::ostringstream answer, complaints;
        app.exit(asked, answer, complaints);
        return to_int(muster::print_result(answer.str()));
    } catch (const CLI::ParseError& error) {
        return usage_error(app, program, arguments, error);
    }
    const std::string wanted = app.get_subcommands().front()->get_name();
    const auto command = std::find_if(program.commands.begin(), program.commands.end(),
                                      [&](const Command& each) { return each.name == wanted; });
    if (!command->takes_reload) muster::release_reload();
    return command->run();
}

}  // namespace

int main(int argc, char** argv) {
    if (muster::is_keeper(argc, argv)) return muster::run_keeper();
    try {
        muster::hold_reload();
        return run(std::span(argv, argv + argc).subspan(argc > 0 ? 1 : 0));
    } catch (const muster::CommandFailure& failure) {
        print_error("muster: {}\n", failure.what());
        return failure.exit_code;
    } catch (const std::exception& failure) {
        print_error("muster: {}\n", failure.what());
        return to_int(ExitCode::internal);
    }
}

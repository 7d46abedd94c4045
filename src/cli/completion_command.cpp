// `muster completion SHELL`: what makes Tab complete commands, flags and their values.
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/standard_output.h"

namespace muster {
namespace {

std::string joined(const std::vector<std::string>& words) {
    std::string all;
    for (const std::string& word : words) all += (all.empty() ? "" : " ") + word;
    return all;
}

// The words that may stand after the command: its flags, and the choices of arguments by their place.
std::string words_of(const Command& command) {
    std::vector<std::string> words;
    for (const CommandOption& option : command.options) {
        if (!option.is_place()) words.push_back(option.name);
        if (option.is_place()) words.insert(words.end(), option.choices.begin(), option.choices.end());
    }
    words.emplace_back("--help");
    return joined(words);
}

std::string names_of(const Program& program) {
    std::vector<std::string> names;
    names.reserve(program.commands.size());
    for (const Command& command : program.commands) names.push_back(command.name);
    return joined(names);
}

std::string bash(const Program& program) {
    std::string values;
    std::string words;
    for (const Command& command : program.commands) {
        for (const CommandOption& option : command.options) {
            if (option.is_place() || option.is_flag()) continue;
            const std::string offer =
                option.is_file ? "COMPREPLY=($(compgen -f -- \"$current\"))"
                               : fmt::format("COMPREPLY=($(compgen -W '{}' -- \"$current\"))", joined(option.choices));
            values += fmt::format("        '{} {}') {}; return ;;\n", command.name, option.name, offer);
        }
        words += fmt::format("        {}) words='{}' ;;\n", command.name, words_of(command));
    }
    return fmt::format(R"(# bash completion of muster: muster completion bash > /etc/bash_completion.d/muster
_muster() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} command=${{COMP_WORDS[1]}} words=
    COMPREPLY=()
    # bash takes --flag=value for three words.
    if [[ $current == = ]]; then current=; fi
    if [[ $before == = ]]; then before=${{COMP_WORDS[COMP_CWORD-2]}}; fi
    if ((COMP_CWORD == 1)); then
        COMPREPLY=($(compgen -W '{} --help --version' -- "$current"))
        return
    fi
    case "$command $before" in
{}    esac
    case "$command" in
{}    esac
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o filenames -F _muster muster
)",
                       names_of(program), values, words);
}

// Inside '…' of zsh and fish a quote ends the text; in a zsh specification : [ ] mean something, too.
std::string quoted(std::string_view text, std::string_view special) {
    std::string out;
    for (const char each : text) {
        if (each == '\'') {
            out += "’";
        } else {
            if (special.find(each) != std::string_view::npos) out += '\\';
            out += each;
        }
    }
    return out;
}

// `place` counts the arguments by their place.
std::string zsh_option(const CommandOption& option, int& place) {
    const std::string help = quoted(option.help, ":[]\\");
    std::string values;
    if (option.is_file) values = "_files";
    if (!option.choices.empty()) values = "(" + joined(option.choices) + ")";
    if (option.is_place()) {
        const bool is_rest = option.takes_many();
        return fmt::format(" \\\n                '{}:{}:{}'", is_rest ? "*" : fmt::to_string(++place), help, values);
    }
    if (option.is_flag()) return fmt::format(" \\\n                '{}[{}]'", option.name, help);
    return fmt::format(" \\\n                '{}[{}]:{}:{}'", option.name, help, option.value, values);
}

std::string zsh(const Program& program) {
    std::string names;
    std::string cases;
    for (const Command& command : program.commands) {
        names += fmt::format("        '{}:{}'\n", command.name, quoted(command.summary, ":\\"));
        std::string options;
        int place = 0;
        for (const CommandOption& option : command.options) options += zsh_option(option, place);
        cases +=
            fmt::format("        {})\n            _arguments '--help[Show the help]'{} ;;\n", command.name, options);
    }
    return fmt::format(R"(#compdef muster
# zsh completion of muster: muster completion zsh > "${{fpath[1]}}/_muster"
_muster() {{
    local -a commands
    commands=(
{}    )
    if ((CURRENT == 2)); then
        _describe command commands
        return
    fi
    local command=$words[2]
    shift words
    ((CURRENT--))
    case "$command" in
{}    esac
}}
if [ "$funcstack[1]" = _muster ]; then _muster "$@"; else compdef _muster muster; fi
)",
                       names, cases);
}

std::string fish(const Program& program) {
    std::string text =
        "# fish completion of muster: muster completion fish > ~/.config/fish/completions/muster.fish\n"
        "complete -c muster -f\n"
        "complete -c muster -l help -d 'Show the help'\n"
        "complete -c muster -n __fish_use_subcommand -l version -d 'Show the version'\n";
    for (const Command& command : program.commands)
        text += fmt::format("complete -c muster -n __fish_use_subcommand -a {} -d '{}'\n", command.name,
                            quoted(command.summary, "\\"));
    for (const Command& command : program.commands) {
        for (const CommandOption& option : command.options) {
            const std::string when = fmt::format("-n '__fish_seen_subcommand_from {}'", command.name);
            const std::string help = quoted(option.help, "\\");
            const std::string choices = option.choices.empty() ? "" : fmt::format(" -a '{}'", joined(option.choices));
            if (option.is_place()) {
                if (!choices.empty()) text += fmt::format("complete -c muster {}{} -d '{}'\n", when, choices, help);
                continue;
            }
            const char* kind = option.is_flag() ? "" : option.is_file ? " -r -F" : " -x";
            text += fmt::format("complete -c muster {} -l {}{}{} -d '{}'\n", when, option.name.substr(2), kind, choices,
                                help);
        }
    }
    return text;
}

}  // namespace

Command completion_command(std::function<const Program&()> program) {
    const auto shell = std::make_shared<std::string>();
    CommandOption which{"SHELL", "", "For which shell", shell.get(), true};
    which.choices = {"bash", "zsh", "fish"};
    return {"completion",
            "Print a shell completion script",
            {which},
            "  muster completion bash > /etc/bash_completion.d/muster\n"
            "  muster completion zsh > \"${fpath[1]}/_muster\"\n"
            "  muster completion fish > ~/.config/fish/completions/muster.fish\n",
            [shell, program = std::move(program)] {
                if (*shell == "bash") return to_int(print_result(bash(program())));
                if (*shell == "zsh") return to_int(print_result(zsh(program())));
                return to_int(print_result(fish(program())));
            }};
}

}  // namespace muster

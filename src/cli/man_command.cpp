// `muster man`: the manual page, from the same words as the help.
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/standard_output.h"

namespace muster {
namespace {

// As roff takes it literally.
std::string roff(std::string_view text) {
    std::string out;
    bool line_begins = true;
    for (const char each : text) {
        if (line_begins && (each == '.' || each == '\'')) out += "\\&";
        line_begins = each == '\n';
        if (each == '\\') {
            out += "\\e";
        } else if (each == '-') {
            out += "\\-";
        } else {
            out += each;
        }
    }
    return out;
}

// Lines as they stand: examples and tables.
std::string as_it_stands(std::string_view text) {
    while (text.ends_with('\n')) text.remove_suffix(1);
    if (text.empty()) return {};
    return fmt::format(".PP\n.nf\n{}\n.fi\n", roff(text));
}

std::string option_text(const CommandOption& option) {
    std::string text = ".TP\n\\fB" + roff(option.name) + "\\fR";
    if (!option.value.empty()) text += " \\fI" + roff(option.value) + "\\fR";
    text += "\n" + roff(option.help);
    if (!option.choices.empty()) {
        text += ":";
        for (std::size_t i = 0; i < option.choices.size(); ++i) text += (i == 0 ? " " : ", ") + roff(option.choices[i]);
    }
    return text + "\n";
}

std::string command_text(const Command& command) {
    std::string usage;
    bool flags = false;
    for (const CommandOption& option : command.options) {
        flags = flags || !option.is_place();
        if (!option.is_place()) continue;
        const std::string place = "\\fI" + roff(option.name) + "\\fR";
        usage += option.required ? " " + place : " [" + place + "]";
    }
    std::string text = fmt::format(".SS \"muster {}\"\n{}.\n.PP\n\\fBmuster {}\\fR{}{}\n", roff(command.name),
                                   roff(command.summary), roff(command.name), usage, flags ? " [\\fIFLAGS\\fR]" : "");
    for (const CommandOption& option : command.options) text += option_text(option);
    return text + as_it_stands(command.notes);
}

std::string manual(const Program& program) {
    std::string text = fmt::format(".TH MUSTER 1 \"\" \"muster {}\" \"User Commands\"\n", roff(program.version));
    text += ".SH NAME\nmuster \\- keeps an online game's fleet honest\n";
    text += ".SH SYNOPSIS\n\\fBmuster\\fR \\fICOMMAND\\fR [\\fIFLAGS\\fR]\n";
    text += ".SH DESCRIPTION\n" + roff(program.about) + "\n";
    text += ".SH COMMANDS\n";
    for (const Command& command : program.commands) text += command_text(command);
    text += ".SH EXAMPLES, ENVIRONMENT AND EXIT CODES\n" + as_it_stands(program.notes);
    return text;
}

}  // namespace

Command man_command(std::function<const Program&()> program) {
    return {"man", "Print the manual page", {}, "  muster man > muster.1 && man -l muster.1\n", [program] {
                return to_int(print_result(manual(program())));
            }};
}

}  // namespace muster

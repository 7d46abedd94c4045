// `muster man`: the manual page, from the same words as the help.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/standard_output.h"
#include "cli/usage_line.h"

namespace muster {
namespace {

// The character that begins at `at`, beyond ASCII, by its number: not every roff reads UTF-8. Ours are two or three
// bytes long. Moves `at` to its last byte.
std::string roff_character(std::string_view text, std::size_t& at) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned>(static_cast<unsigned char>(text[i])); };
    if (byte(at) < 0xE0) {
        at += 1;
        return fmt::format("\\[u{:04X}]", (byte(at - 1) & 0x1FU) << 6U | (byte(at) & 0x3FU));
    }
    at += 2;
    return fmt::format("\\[u{:04X}]",
                       (byte(at - 2) & 0x0FU) << 12U | (byte(at - 1) & 0x3FU) << 6U | (byte(at) & 0x3FU));
}

// As roff takes it literally.
std::string roff(std::string_view text) {
    std::string out;
    bool line_begins = true;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char each = text[i];
        if (line_begins && (each == '.' || each == '\'')) out += "\\&";
        line_begins = each == '\n';
        if (each == '\\') {
            out += "\\e";
        } else if (each == '-') {
            out += "\\-";
        } else if ((each & 0x80) != 0) {
            out += roff_character(text, i);
        } else {
            out += each;
        }
    }
    return out;
}

// Sentences are filled to the reader's width; indented lines are examples, and stay as they stand.
std::string notes_text(std::string_view notes) {
    enum class Inside : std::uint8_t { nothing, sentences, examples };
    std::string text;
    Inside inside = Inside::nothing;
    const auto enter = [&](Inside next) {
        if (inside == next) return;
        if (inside == Inside::examples) text += ".fi\n.RE\n";
        if (next == Inside::sentences) text += ".PP\n";
        if (next == Inside::examples) text += ".PP\n.RS\n.nf\n";
        inside = next;
    };
    while (!notes.empty()) {
        const std::string_view line = notes.substr(0, notes.find('\n'));
        notes.remove_prefix(std::min(line.size() + 1, notes.size()));
        const std::size_t indent = line.find_first_not_of(' ');
        if (indent == std::string_view::npos) {
            enter(Inside::nothing);
        } else {
            enter(indent > 0 ? Inside::examples : Inside::sentences);
            text += roff(line.substr(indent)) + "\n";
        }
    }
    enter(Inside::nothing);
    return text;
}

std::string section(std::string_view heading, const std::vector<HelpLine>& lines) {
    std::string text = fmt::format(".SH {}\n", heading);
    for (const HelpLine& line : lines) text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(line.about), roff(line.text));
    return text;
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
    for (const std::string& part : usage_parts(command)) usage += " " + roff(part);
    std::string text = fmt::format(".SS \"muster {}\"\n{}.\n.PP\n\\fBmuster {}\\fR{}\n", roff(command.name),
                                   roff(command.summary), roff(command.name), usage);
    for (const CommandOption& option : command.options) text += option_text(option);
    return text + notes_text(command.notes);
}

std::string manual(const Program& program) {
    std::string text = fmt::format(".TH MUSTER 1 \"\" \"muster {}\" \"User Commands\"\n", roff(program.version));
    text += ".SH NAME\nmuster \\- runs the fleet behind an online game\n";
    text += ".SH SYNOPSIS\n\\fBmuster\\fR \\fICOMMAND\\fR [\\fIFLAGS\\fR]\n";
    text += ".SH DESCRIPTION\n" + roff(program.about) + "\n";
    text += ".SH COMMANDS\n";
    for (const Command& command : program.commands) text += command_text(command);
    text += section("EXIT STATUS", program.exit_codes);
    text += section("ENVIRONMENT", program.environment);
    text += section("EXAMPLES", program.examples);
    return text;
}

}  // namespace

Command man_command(std::function<const Program&()> program) {
    return {"man",
            "Print the manual page",
            {},
            "  muster man > muster.1 && man -l muster.1\n",
            [program = std::move(program)] { return to_int(print_result(manual(program()))); }};
}

}  // namespace muster

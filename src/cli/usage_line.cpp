#include "cli/usage_line.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/terminal.h"

namespace muster {
namespace {

constexpr std::size_t line_width = 100;
constexpr std::size_t choices_shown_max = 4;

std::string place_text(const CommandOption& place) {
    if (!place.value.empty()) return place.value;
    if (!place.choices.empty() && place.choices.size() <= choices_shown_max)
        return fmt::format("{}", fmt::join(place.choices, "|"));
    return place.name + (place.takes_many() ? "…" : "");
}

std::string flag_text(const CommandOption& flag) {
    return flag.is_flag() ? flag.name : fmt::format("{} {}", flag.name, flag.value);
}

bool excludes(const CommandOption& one, const CommandOption& other) {
    return std::ranges::find(one.excludes, other.name) != one.excludes.end();
}

std::string bracketed(const std::string& text, bool needed, bool is_choice) {
    if (!needed) return "[" + text + "]";
    return is_choice ? "(" + text + ")" : text;
}

}  // namespace

std::vector<std::string> usage_parts(const Command& command) {
    std::vector<std::string> parts;
    std::vector<std::string> last;
    std::vector<const CommandOption*> said;  // flags that stand in the place of an argument
    for (const CommandOption& place : command.options) {
        if (!place.is_place()) continue;
        std::string text = place_text(place);
        bool is_choice = false;
        for (const CommandOption& flag : command.options) {
            if (flag.is_place() || !excludes(flag, place)) continue;
            text += " | " + flag_text(flag);
            said.push_back(&flag);
            is_choice = true;
        }
        auto& where = text.starts_with("--") ? last : parts;
        where.push_back(bracketed(text, place.required || place.required_or_other, is_choice));
    }
    for (const CommandOption& flag : command.options) {
        if (flag.is_place() || std::ranges::find(said, &flag) != said.end()) continue;
        parts.push_back(bracketed(flag_text(flag), flag.required, false));
    }
    parts.insert(parts.end(), last.begin(), last.end());
    return parts;
}

std::string usage_line(const Command& command) {
    std::string text;
    std::string line = "muster " + command.name;
    for (const std::string& part : usage_parts(command)) {
        if (shown_width(line) + 1 + shown_width(part) > line_width) {
            text += line + "\n";
            line = "   ";
        }
        line += " " + part;
    }
    return text + line;
}

}  // namespace muster

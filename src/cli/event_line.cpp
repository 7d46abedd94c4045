#include "cli/event_line.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "cli/figures.h"
#include "cli/terminal.h"

namespace muster {
namespace {

constexpr std::size_t type_columns = 17;  // of the longest, server.registered

Style style_of(std::string_view type) {
    if (type.ends_with("offline") || type.ends_with("aborted") || type.ends_with("refused") || type == "brake.on")
        return Style::red;
    if (type.starts_with("server.")) return Style::cyan;
    if (type.starts_with("match.")) return Style::green;
    if (type.starts_with("operator.") || type.starts_with("clock.")) return Style::yellow;
    return Style::plain;
}

// A value of several words is in quotes, and so is any that might look so: none can pass for several pairs.
std::string pair_text(std::string_view name, std::string_view value) {
    if (std::all_of(value.begin(), value.end(), [](char c) { return c > ' ' && c < 0x7F && c != '"'; }))
        return fmt::format("{}={}", safe_text(name), safe_text(value));
    std::string escaped;
    for (const char c : value) {
        if (c == '"' || c == '\\') escaped += '\\';
        escaped += c;
    }
    return fmt::format("{}=\"{}\"", safe_text(name), safe_text(escaped));
}

// "31.2s" for 31.2431: milliseconds at most, and one word.
std::string brief_span(double seconds) {
    std::string text = span_text(seconds);
    std::erase(text, ' ');
    return text;
}

std::string field_text(std::string_view name, const JsonValue& value, const RegionNames& regions) {
    constexpr std::string_view in_seconds = "_seconds";
    if (name == "region") return pair_text(name, regions.name(value.integer()));
    if (name == "seconds") return pair_text("took", brief_span(value.number()));
    if (name.ends_with(in_seconds))
        return pair_text(name.substr(0, name.size() - in_seconds.size()), brief_span(value.number()));
    return pair_text(name, value.text().empty() ? value.to_json() : value.text());
}

bool is_empty(const JsonValue& value) {
    return value.is_null() || value.to_json() == "\"\"";
}

}  // namespace

std::string event_line(const JsonValue& event, const RegionNames& regions, const EventLineForm& form) {
    const std::string type = safe_text(event["type"].text());
    const std::string fill(type_columns - std::min(type_columns, shown_width(type)), ' ');
    std::string line = fmt::format("{:>{}}  {}", moment_text(event["time_ms"].integer()), form.moment_columns,
                                   form.colours ? styled(style_of(type), type) : type);
    std::string gap = fill + "  ";  // before the first field, and none without one
    for (const auto& [name, value] : event.fields()) {
        if (name == "id" || name == "time_ms" || name == "type" || is_empty(value)) continue;
        line += gap + field_text(name, value, regions);
        gap = " ";
    }
    return line;
}

}  // namespace muster

#include "base/json_fields.h"

#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/utf8.h"

namespace muster {

std::string json_quoted(std::string_view text) {
    std::string out;
    out.reserve(text.size() + 2);
    out += '"';
    while (!text.empty()) {
        const std::size_t length = utf8_sequence_length(text);
        if (length == 0) {
            out += "\\ufffd";
            text.remove_prefix(1);
            continue;
        }
        const std::string_view sequence = text.substr(0, length);
        text.remove_prefix(length);
        const auto c = static_cast<unsigned char>(sequence[0]);
        if (length == 2 && c == 0xC2 && static_cast<unsigned char>(sequence[1]) < 0xA0) {
            fmt::format_to(std::back_inserter(out), "\\u{:04x}",
                           static_cast<unsigned char>(sequence[1]));  // C1 controls
        } else if (length > 1) {
            out += sequence;
        } else if (c == '"' || c == '\\') {
            out += '\\';
            out += sequence;
        } else if (c == '\n') {
            out += "\\n";
        } else if (c < 0x20 || c == 0x7F || c == '<' || c == '>' || c == '&') {
            fmt::format_to(std::back_inserter(out), "\\u{:04x}", c);
        } else {
            out += sequence;
        }
    }
    out += '"';
    return out;
}

void JsonFields::integer(std::string_view name, std::int64_t value) {
    begin(name);
    fmt::format_to(std::back_inserter(out_), "{}", value);
}

void JsonFields::real(std::string_view name, double value) {
    begin(name);
    if (std::isfinite(value)) {
        fmt::format_to(std::back_inserter(out_), "{}", value);
    } else {
        out_ += "null";
    }
}

void JsonFields::text(std::string_view name, std::string_view value) {
    begin(name);
    out_ += json_quoted(value);
}

void JsonFields::flag(std::string_view name, bool value) {
    begin(name);
    out_ += value ? "true" : "false";
}

void JsonFields::begin_object(std::string_view name) {
    begin(name);
    out_ += '{';
    in_list_.push_back(false);
    first_ = true;
}

void JsonFields::end_object() {
    MUSTER_CHECK(in_list_.size() > 1 && !in_list_.back(), "ends an object that is open");
    out_ += '}';
    in_list_.pop_back();
    first_ = false;
}

void JsonFields::begin_list(std::string_view name) {
    begin(name);
    out_ += '[';
    in_list_.push_back(true);
    first_ = true;
}

void JsonFields::end_list() {
    MUSTER_CHECK(in_list_.size() > 1 && in_list_.back(), "ends a list that is open");
    out_ += ']';
    in_list_.pop_back();
    first_ = false;
}

std::string JsonFields::finish() {
    MUSTER_CHECK(in_list_.size() == 1, "every group has been ended");
    out_ += '}';
    first_ = true;
    return std::exchange(out_, "{");
}

void JsonFields::begin(std::string_view name) {
    if (!first_) out_ += ',';
    first_ = false;
    if (in_list_.back()) return;
    out_ += json_quoted(name);
    out_ += ':';
}

}  // namespace muster

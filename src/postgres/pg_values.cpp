#include "postgres/pg_values.h"

namespace muster {

std::string pg_text(std::string_view text) {
    if (text.find('\0') == std::string_view::npos) return std::string(text);
    std::string kept;
    kept.reserve(text.size());
    for (const char c : text) kept += c == '\0' ? std::string("\uFFFD") : std::string(1, c);
    return kept;
}

std::vector<const char*> PgValues::pointers() const {
    std::vector<const char*> all;
    all.reserve(values_.size());
    for (const Value& value : values_) all.push_back(value.bytes ? value.bytes->c_str() : nullptr);
    return all;
}

std::vector<int> PgValues::lengths() const {
    std::vector<int> all;
    all.reserve(values_.size());
    for (const Value& value : values_) all.push_back(value.bytes ? static_cast<int>(value.bytes->size()) : 0);
    return all;
}

std::vector<int> PgValues::formats() const {
    std::vector<int> all;
    all.reserve(values_.size());
    for (const Value& value : values_) all.push_back(value.is_binary ? 1 : 0);
    return all;
}

void PgArray::add(std::string_view text) {
    std::string quoted = "\"";
    for (const char c : pg_text(text)) {
        if (c == '"' || c == '\\') quoted += '\\';
        quoted += c;
    }
    raw(quoted + "\"");
}

}  // namespace muster

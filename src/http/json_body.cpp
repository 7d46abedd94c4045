#include "http/json_body.h"

#include <utility>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <fmt/format.h>

namespace muster {
namespace {

// An action's body is one flat object; what is nested deeper than this is no mistake of a person.
constexpr std::size_t depth_max = 8;
constexpr std::size_t shown_name_bytes_max = 64;

}  // namespace

JsonBody::JsonBody(std::string_view text) {
    if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return;
    boost::json::parse_options options;
    options.max_depth = depth_max;
    boost::json::error_code failure;
    const boost::json::value whole = boost::json::parse({text.data(), text.size()}, failure, {}, options);
    const boost::json::object* object = whole.if_object();
    if (failure) wrong("The body is not valid JSON");
    if (!object) wrong("The body must be a JSON object");
    if (error_) return;
    for (const auto& [key, value] : *object) {
        Value kept;
        if (const bool* flag = value.if_bool()) kept = *flag;
        if (const std::int64_t* number = value.if_int64()) kept = *number;
        if (const auto* string = value.if_string()) kept = std::string(string->data(), string->size());
        values_.insert_or_assign(std::string(key.data(), key.size()), std::move(kept));
    }
}

std::int64_t JsonBody::integer(std::string_view name, std::int64_t least, std::int64_t most) {
    const auto value = optional_integer(name, least, most);
    if (!value) wrong(fmt::format("{} is missing; it must be a whole number from {} to {}", name, least, most));
    return value.value_or(0);
}

std::optional<std::int64_t> JsonBody::optional_integer(std::string_view name, std::int64_t least, std::int64_t most) {
    const Value* value = take(name);
    if (!value) return std::nullopt;
    const std::int64_t* number = std::get_if<std::int64_t>(value);
    if (number && *number >= least && *number <= most) return *number;
    wrong(fmt::format("{} must be a whole number from {} to {}", name, least, most));
    return std::nullopt;
}

bool JsonBody::flag(std::string_view name) {
    const Value* value = take(name);
    const bool* flag = value ? std::get_if<bool>(value) : nullptr;
    if (!flag) wrong(fmt::format("{} must be true or false", name));
    return flag && *flag;
}

std::string JsonBody::optional_text(std::string_view name, std::size_t bytes_max) {
    const Value* value = take(name);
    if (!value) return {};
    const std::string* text = std::get_if<std::string>(value);
    if (text && text->size() <= bytes_max) return *text;
    wrong(fmt::format("{} must be a text of at most {} bytes", name, bytes_max));
    return {};
}

std::optional<std::string> JsonBody::error() {
    for (const auto& [name, value] : values_) {
        if (asked_.contains(name)) continue;
        std::string known;
        for (const std::string& one : asked_) known += (known.empty() ? "" : ", ") + one;
        wrong(fmt::format("Unknown field {}; known are: {}", name.substr(0, shown_name_bytes_max), known));
    }
    return error_;
}

const JsonBody::Value* JsonBody::take(std::string_view name) {
    asked_.emplace(name);
    const auto found = values_.find(name);
    return found == values_.end() ? nullptr : &found->second;
}

void JsonBody::wrong(std::string text) {
    if (!error_) error_ = std::move(text);
}

}  // namespace muster

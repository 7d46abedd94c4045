#include "http/json_body.h"

#include <algorithm>
#include <utility>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <fmt/format.h>

namespace muster {
namespace {

// An action's body is one flat object; what is nested deeper than this is no mistake of a person.
constexpr std::size_t depth_max = 8;
constexpr std::size_t shown_name_bytes_max = 64;

// None when it holds anything else. An empty list is one of numbers.
std::optional<std::vector<std::int64_t>> numbers_of(const boost::json::array& list) {
    std::vector<std::int64_t> numbers;
    for (const boost::json::value& one : list) {
        if (!one.is_int64()) return std::nullopt;
        numbers.push_back(one.get_int64());
    }
    return numbers;
}

std::optional<std::vector<std::string>> texts_of(const boost::json::array& list) {
    std::vector<std::string> texts;
    for (const boost::json::value& one : list) {
        if (!one.is_string()) return std::nullopt;
        texts.emplace_back(one.get_string().data(), one.get_string().size());
    }
    return texts.empty() ? std::nullopt : std::optional(std::move(texts));
}

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
        if (const auto* list = value.if_array()) {
            if (auto numbers = numbers_of(*list)) kept = std::move(*numbers);
            if (auto texts = texts_of(*list)) kept = std::move(*texts);
        }
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

std::variant<std::int64_t, std::string> JsonBody::number_or_text(std::string_view name, std::int64_t least,
                                                                 std::int64_t most, std::size_t bytes_max) {
    const Value* value = take(name);
    if (value) {
        if (const auto* number = std::get_if<std::int64_t>(value); number && *number >= least && *number <= most)
            return *number;
        if (const auto* text = std::get_if<std::string>(value); text && !text->empty() && text->size() <= bytes_max)
            return *text;
    }
    wrong(fmt::format("{} {} a whole number from {} to {}, or a name", name,
                      value ? "must be" : "is missing; it must be", least, most));
    return std::int64_t{0};
}

std::vector<std::int64_t> JsonBody::optional_integers(std::string_view name, std::int64_t least, std::int64_t most,
                                                      std::size_t items_max) {
    const Value* value = take(name);
    if (!value) return {};
    const auto* numbers = std::get_if<std::vector<std::int64_t>>(value);
    const auto fits = [least, most](std::int64_t number) { return number >= least && number <= most; };
    if (numbers && numbers->size() <= items_max && std::all_of(numbers->begin(), numbers->end(), fits)) return *numbers;
    wrong(fmt::format("{} must be a list of at most {} whole numbers from {} to {}", name, items_max, least, most));
    return {};
}

std::vector<std::string> JsonBody::optional_texts(std::string_view name, std::size_t bytes_max, std::size_t items_max) {
    const Value* value = take(name);
    if (!value) return {};
    if (const auto* none = std::get_if<std::vector<std::int64_t>>(value); none && none->empty()) return {};
    const auto* texts = std::get_if<std::vector<std::string>>(value);
    const auto fits = [bytes_max](const std::string& text) { return text.size() <= bytes_max; };
    if (texts && texts->size() <= items_max && std::all_of(texts->begin(), texts->end(), fits)) return *texts;
    wrong(fmt::format("{} must be a list of at most {} texts of at most {} bytes", name, items_max, bytes_max));
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

#include "cli/json_value.h"

#include <cmath>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "base/json_fields.h"

namespace muster {
namespace {

constexpr std::size_t depth_max = 16;

// Boost.JSON writes 1.5 as 1.5E0, and people read this. As deep as the parser lets it be.
void write(const boost::json::value& value, std::string& out) {
    if (const double* real = value.if_double()) {
        out += std::isfinite(*real) ? fmt::to_string(*real) : "null";
    } else if (const auto* text = value.if_string()) {
        out += json_quoted(std::string_view(text->data(), text->size()));
    } else if (const auto* items = value.if_array()) {
        std::string_view before = "[";
        for (const boost::json::value& item : *items) {
            out += std::exchange(before, ",");
            write(item, out);
        }
        out += items->empty() ? "[]" : "]";
    } else if (const auto* fields = value.if_object()) {
        std::string_view before = "{";
        for (const auto& [name, field] : *fields) {
            out += std::exchange(before, ",");
            out += json_quoted(std::string_view(name.data(), name.size())) + ':';
            write(field, out);
        }
        out += fields->empty() ? "{}" : "}";
    } else {
        out += boost::json::serialize(value);
    }
}

}  // namespace

JsonValue::JsonValue(boost::json::value&& whole)
    : here_(std::make_shared<const boost::json::value>(std::move(whole))) {}

std::optional<JsonValue> JsonValue::parse(std::string_view text) {
    boost::json::parse_options options;
    options.max_depth = depth_max;
    boost::json::error_code failure;
    boost::json::value whole = boost::json::parse({text.data(), text.size()}, failure, {}, options);
    if (failure) return std::nullopt;
    return JsonValue(std::move(whole));
}

JsonValue JsonValue::at(const boost::json::value& inner) const {
    JsonValue place;
    place.here_ = std::shared_ptr<const boost::json::value>(here_, &inner);
    return place;
}

JsonValue JsonValue::operator[](std::string_view field) const {
    const auto* object = here_ ? here_->if_object() : nullptr;
    const auto* found = object ? object->if_contains({field.data(), field.size()}) : nullptr;
    return found ? at(*found) : JsonValue();
}

std::vector<JsonValue> JsonValue::items() const {
    std::vector<JsonValue> all;
    if (const auto* array = here_ ? here_->if_array() : nullptr) {
        all.reserve(array->size());
        for (const boost::json::value& item : *array) all.push_back(at(item));
    }
    return all;
}

std::vector<std::pair<std::string, JsonValue>> JsonValue::fields() const {
    std::vector<std::pair<std::string, JsonValue>> all;
    if (const auto* object = here_ ? here_->if_object() : nullptr) {
        for (const auto& [name, value] : *object) all.emplace_back(std::string(name.data(), name.size()), at(value));
    }
    return all;
}

bool JsonValue::is_null() const {
    return !here_ || here_->is_null();
}

bool JsonValue::flag() const {
    return here_ && here_->is_bool() && here_->get_bool();
}

std::int64_t JsonValue::integer() const {
    return here_ && here_->is_int64() ? here_->get_int64() : 0;
}

double JsonValue::number() const {
    return here_ && here_->is_number() ? here_->to_number<double>() : 0;
}

std::string_view JsonValue::text() const {
    const auto* text = here_ ? here_->if_string() : nullptr;
    return text ? std::string_view(text->data(), text->size()) : std::string_view();
}

boost::json::value JsonValue::copy() const {
    return here_ ? *here_ : boost::json::value();
}

std::string JsonValue::to_json() const {
    std::string out;
    write(here_ ? *here_ : boost::json::value(), out);
    return out;
}

}  // namespace muster

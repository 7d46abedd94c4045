#include "cli/json_value.h"

#include <cmath>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "base/json_fields.h"

namespace muster {
namespace {

constexpr std::size_t depth_max = 16;

template <class Wanted>
const Wanted& as(const JsonValue::Kind& kind) {
    static const Wanted none{};
    const Wanted* found = std::get_if<Wanted>(&kind);
    return found ? *found : none;
}

// As deep as the parser lets it be.
JsonValue copied(const boost::json::value& from) {
    if (const bool* flag = from.if_bool()) return JsonValue(*flag);
    if (const std::int64_t* number = from.if_int64()) return JsonValue(*number);
    if (const std::uint64_t* number = from.if_uint64()) return JsonValue(static_cast<double>(*number));
    if (const double* number = from.if_double()) return JsonValue(*number);
    if (const auto* text = from.if_string()) return JsonValue(std::string(text->data(), text->size()));
    if (const auto* array = from.if_array()) {
        JsonValue::List items;
        items.reserve(array->size());
        for (const boost::json::value& item : *array) items.push_back(copied(item));
        return JsonValue(std::move(items));
    }
    if (const auto* object = from.if_object()) {
        JsonValue::Fields fields;
        for (const auto& [name, value] : *object)
            fields.emplace_back(std::string(name.data(), name.size()), copied(value));
        return JsonValue(std::move(fields));
    }
    return {};
}

}  // namespace

std::optional<JsonValue> JsonValue::parse(std::string_view text) {
    boost::json::parse_options options;
    options.max_depth = depth_max;
    boost::json::error_code failure;
    const boost::json::value whole = boost::json::parse({text.data(), text.size()}, failure, {}, options);
    if (failure) return std::nullopt;
    return copied(whole);
}

const JsonValue& JsonValue::operator[](std::string_view field) const {
    static const JsonValue none;
    for (const auto& [name, value] : fields())
        if (name == field) return value;
    return none;
}

const JsonValue::List& JsonValue::items() const {
    return as<List>(kind_);
}

const JsonValue::Fields& JsonValue::fields() const {
    return as<Fields>(kind_);
}

bool JsonValue::flag() const {
    return as<bool>(kind_);
}

std::int64_t JsonValue::integer() const {
    return as<std::int64_t>(kind_);
}

double JsonValue::number() const {
    if (const std::int64_t* whole = std::get_if<std::int64_t>(&kind_)) return static_cast<double>(*whole);
    return as<double>(kind_);
}

std::string_view JsonValue::text() const {
    return as<std::string>(kind_);
}

std::string JsonValue::to_json() const {
    std::string out;
    write(out);
    return out;
}

void JsonValue::write(std::string& out) const {
    if (is_null()) {
        out += "null";
    } else if (const bool* flag_value = std::get_if<bool>(&kind_)) {
        out += *flag_value ? "true" : "false";
    } else if (const std::int64_t* whole = std::get_if<std::int64_t>(&kind_)) {
        out += fmt::to_string(*whole);
    } else if (const double* real = std::get_if<double>(&kind_)) {
        out += std::isfinite(*real) ? fmt::to_string(*real) : "null";
    } else if (std::holds_alternative<std::string>(kind_)) {
        out += json_quoted(text());
    } else if (std::holds_alternative<List>(kind_)) {
        out += '[';
        for (std::size_t i = 0; i < items().size(); ++i) {
            if (i > 0) out += ',';
            items()[i].write(out);
        }
        out += ']';
    } else {
        out += '{';
        for (std::size_t i = 0; i < fields().size(); ++i) {
            if (i > 0) out += ',';
            out += json_quoted(fields()[i].first) + ':';
            fields()[i].second.write(out);
        }
        out += '}';
    }
}

}  // namespace muster

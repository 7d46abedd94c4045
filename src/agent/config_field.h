// One key of the agent's config: its name, what is allowed, and how its TOML value gets into its place.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "agent/sdk_side.h"
#include "base/json_fields.h"
#include "base/time.h"
#include "base/utf8.h"
#include "config/config_units.h"

namespace muster {

// Of the struct T.
template <class T>
struct ConfigField {
    std::string name;
    std::string allowed;  // "a whole number from 1 to 7"
    // False, and nothing changed, when the value is not allowed.
    std::function<bool(const toml::node&, T&)> set;
};

// The makers: each takes the member, and the limits of its value (both ends are allowed).

template <class T, class Number>
ConfigField<T> whole_field(std::string name, Number T::* member, std::int64_t least, std::int64_t most) {
    return {std::move(name), fmt::format("a whole number from {} to {}", least, most),
            [=](const toml::node& node, T& out) {
                const auto* value = node.as_integer();
                if (!value || value->get() < least || value->get() > most) return false;
                out.*member = static_cast<Number>(value->get());
                return true;
            }};
}

inline bool is_usable_text(std::string_view text) {
    return is_utf8(text) && text.find('\0') == std::string_view::npos;
}

template <class T>
ConfigField<T> text_field(std::string name, std::string T::* member, std::string allowed,
                          std::function<bool(std::string_view)> fits) {
    return {std::move(name), std::move(allowed), [member, fits = std::move(fits)](const toml::node& node, T& out) {
                const auto* value = node.as_string();
                if (!value || !is_usable_text(value->get()) || !fits(value->get())) return false;
                out.*member = value->get();
                return true;
            }};
}

template <class T>
ConfigField<T> duration_field(std::string name, std::function<void(T&, Duration)> place, Duration least,
                              Duration most) {
    return {
        std::move(name),
        fmt::format("a duration from {} to {}, such as \"500ms\", \"10s\" or \"5m\"", to_text(least), to_text(most)),
        [place = std::move(place), least, most](const toml::node& node, T& out) {
            const auto* value = node.as_string();
            const auto duration = value ? parse_duration(value->get()) : std::nullopt;
            if (!duration || *duration < least || *duration > most) return false;
            place(out, *duration);
            return true;
        }};
}

template <class T>
ConfigField<T> size_field(std::string name, ByteSize T::* member, ByteSize least, ByteSize most) {
    return {std::move(name),
            fmt::format("a size from {} to {}, such as \"256KiB\" or a number of bytes", to_text(least), to_text(most)),
            [=](const toml::node& node, T& out) {
                std::optional<ByteSize> size;
                if (const auto* text = node.as_string()) size = parse_byte_size(text->get());
                if (const auto* number = node.as_integer()) size = ByteSize{number->get()};
                if (!size || *size < least || *size > most) return false;
                out.*member = *size;
                return true;
            }};
}

template <class T>
ConfigField<T> flag_field(std::string name, bool T::* member) {
    return {std::move(name), "true or false", [=](const toml::node& node, T& out) {
                const auto* value = node.as_boolean();
                if (!value) return false;
                out.*member = value->get();
                return true;
            }};
}

// A table of texts, such as { NAME = "value" }.
template <class T>
ConfigField<T> entries_field(std::string name, std::vector<EnvironmentEntry> T::* member, std::string allowed,
                             std::function<bool(std::string_view)> name_fits, std::size_t value_bytes_max) {
    return {std::move(name), std::move(allowed),
            [member, fits = std::move(name_fits), value_bytes_max](const toml::node& node, T& out) {
                constexpr std::size_t entries_max = 256;
                const toml::table* table = node.as_table();
                if (!table || table->size() > entries_max) return false;
                std::vector<EnvironmentEntry> entries;
                for (const auto& [key, value] : *table) {
                    const auto* text = value.as_string();
                    if (!text || !fits(key.str()) || !is_usable_text(text->get())) return false;
                    if (text->get().size() > value_bytes_max) return false;
                    entries.push_back({std::string(key.str()), text->get()});
                }
                out.*member = std::move(entries);
                return true;
            }};
}

}  // namespace muster

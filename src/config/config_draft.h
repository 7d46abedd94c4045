// A config in the making: the values so far, where each came from, and what was wrong on the way.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "config/config_keys.h"

namespace muster {

// Where a value came from.
struct ConfigOrigin {
    enum class Source : std::uint8_t { built_in, file, environment };
    // The line of what stands in no file, or in no line of it: told after the lines.
    static constexpr std::size_t no_line = static_cast<std::size_t>(-1);

    Source source = Source::built_in;
    std::string place;  // "muster.toml:7", or the variable's name; empty for a default
    std::size_t line = no_line;

    std::string to_string() const { return source == Source::built_in ? "default" : place; }
};

// The origin of every key's value.
class ConfigOrigins {
public:
    ConfigOrigins() : origins_(config_keys().size()) {}

    const ConfigOrigin& of(const ConfigKey& key) const { return origins_[index_of(key)]; }
    void set(const ConfigKey& key, ConfigOrigin origin) { origins_[index_of(key)] = std::move(origin); }

private:
    std::vector<ConfigOrigin> origins_;
};

class ConfigDraft {
public:
    // More than this many are counted, not told.
    static constexpr std::size_t problems_shown_max = 20;

    Config config;
    ConfigOrigins origins;
    std::vector<std::string> warnings;

    // `what` is wrong at `place`; problems of a file are told in the order of its lines.
    void refuse(std::string_view place, std::size_t line, std::string_view what);
    // The same, about one key; checks that compare it with others leave it out.
    void refuse(const ConfigKey& key, std::string_view place, std::size_t line, std::string_view what);
    // The same, wherever the key's present value came from.
    void refuse(const ConfigKey& key, std::string_view what);

    bool refused(const ConfigKey& key) const { return refused_[index_of(key)]; }
    bool has_problems() const { return !problems_.empty(); }
    std::vector<std::string> problems() const;

private:
    struct Problem {
        std::size_t line;
        std::size_t number;  // in the order they were found
        std::string text;
        friend auto operator<=>(const Problem&, const Problem&) = default;
    };
    std::vector<Problem> problems_;
    std::vector<bool> refused_ = std::vector<bool>(config_keys().size());
};

}  // namespace muster

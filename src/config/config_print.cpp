#include "config/config_print.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include "base/json_fields.h"
#include "config/config_value.h"

namespace muster {
namespace {

// Where the origins begin, unless a value is longer.
constexpr std::size_t origin_column = 48;
constexpr std::size_t line_width = 100;

bool is_secret(const ConfigKey& key) {
    return std::holds_alternative<SecretKey>(key.type);
}

// A path or a text that nobody gave has no value to show.
bool is_absent(const ConfigKey& key, const Config& config) {
    const bool may_be = std::holds_alternative<PathKey>(key.type) || std::holds_alternative<TextKey>(key.type);
    return may_be && value_text(key, config) == "\"\"";
}

// The sentence as comment lines of at most `line_width`, broken between words.
void append_comment(std::string& out, std::string_view sentence) {
    while (!sentence.empty()) {
        std::size_t end = sentence.size();
        if (end > line_width) {
            end = sentence.rfind(' ', line_width);
            if (end == std::string_view::npos) end = sentence.size();
        }
        fmt::format_to(std::back_inserter(out), "# {}\n", sentence.substr(0, end));
        sentence.remove_prefix(std::min(end + 1, sentence.size()));
    }
}

std::string secret_state(const ConfigKey& key, const LoadedConfig& loaded) {
    switch (loaded.origins.of(key).source) {
        case ConfigOrigin::Source::environment:
            return "set (environment)";
        case ConfigOrigin::Source::file:
            return fmt::format("set (file {})", json_quoted(loaded.origins.of(key).place));
        case ConfigOrigin::Source::built_in:
            break;
    }
    return "not set";
}

void append_effective(std::string& out, const ConfigKey& key, const LoadedConfig& loaded) {
    if (is_secret(key)) {
        fmt::format_to(std::back_inserter(out), "# {}: {}\n", key.name, secret_state(key, loaded));
    } else if (!is_absent(key, loaded.config)) {
        const std::string setting = fmt::format("{} = {}", key.name, value_text(key, loaded.config));
        fmt::format_to(std::back_inserter(out), "{:<{}}  # {}\n", setting, origin_column,
                       loaded.origins.of(key).to_string());
    }
}

void append_default(std::string& out, const ConfigKey& key, const Config& defaults) {
    if (is_secret(key)) return;
    append_comment(out, key.comment);
    if (const auto* text = std::get_if<TextKey>(&key.type); text && is_absent(key, defaults)) {
        fmt::format_to(std::back_inserter(out), "#{} = {}\n", key.name, text->example);
    } else if (is_absent(key, defaults)) {
        fmt::format_to(std::back_inserter(out), "#{} = \"/etc/muster/{}\"\n", key.name,
                       key.name.substr(0, key.name.rfind('_')));
    } else {
        append_comment(out, fmt::format("Allowed: {}.", allowed_text(key)));
        fmt::format_to(std::back_inserter(out), "{} = {}\n", key.name, value_text(key, defaults));
    }
}

// With a database there is no file: what is printed must be a config that can be read.
bool is_used(const ConfigKey& key, const Config& config) {
    return config.store.url.empty() || key.full_name() != "store.path";
}

// Calls `each` for the keys of each table, after its heading.
template <class Each>
void by_table(std::string& out, Each each) {
    for (const ConfigTable& table : config_tables()) {
        fmt::format_to(std::back_inserter(out), "\n[{}]\n", table.name);
        each(table);
    }
}

}  // namespace

std::string effective_config_text(const LoadedConfig& loaded) {
    std::string out = "# The effective config, and where each value came from.\n";
    by_table(out, [&](const ConfigTable& table) {
        for (const ConfigKey& key : config_keys())
            if (key.table == table.name && is_used(key, loaded.config)) append_effective(out, key, loaded);
    });
    return out;
}

std::string effective_config_json(const LoadedConfig& loaded) {
    JsonFields out;
    for (const ConfigTable& table : config_tables()) {
        out.begin_object(table.name);
        for (const ConfigKey& key : config_keys()) {
            if (key.table != table.name || is_absent(key, loaded.config)) continue;
            out.begin_object(key.name);
            describe_value(key, loaded.config, out);
            out.text("from", loaded.origins.of(key).to_string());
            out.end_object();
        }
        out.end_object();
    }
    return out.finish();
}

std::string default_config_text() {
    const Config defaults;
    std::string out =
        "# Muster's config, every key at its default. Use it with `muster serve --config FILE`. Every key is "
        "optional.\n"
        "# The environment overrides this file: MUSTER_LISTEN_HTTP=127.0.0.1:8080 sets http of [listen].\n"
        "# Durations are in ms, s, m, h or d; sizes in bytes, KiB, MiB or GiB.\n";
    by_table(out, [&](const ConfigTable& table) {
        append_comment(out, table.comment);
        for (const ConfigKey& key : config_keys()) {
            if (key.table != table.name || is_secret(key)) continue;
            out += '\n';
            append_default(out, key, defaults);
        }
    });
    return out;
}

std::string config_reference() {
    const Config defaults;
    std::string out;
    for (const ConfigTable& table : config_tables()) {
        fmt::format_to(std::back_inserter(out),
                       "{}## [{}]\n\n{}\n\n| key | default | allowed | meaning | a change takes effect |\n"
                       "| --- | --- | --- | --- | --- |\n",
                       out.empty() ? "" : "\n", table.name, table.comment);
        for (const ConfigKey& key : config_keys()) {
            if (key.table != table.name) continue;
            const bool has_default = !is_secret(key) && !is_absent(key, defaults);
            fmt::format_to(std::back_inserter(out), "| `{}` | {} | {} | {} | {} |\n", key.name,
                           has_default ? fmt::format("`{}`", value_text(key, defaults)) : "not set", allowed_text(key),
                           key.comment, key.effect == TakesEffect::at_reload ? "at SIGHUP" : "at a restart");
        }
    }
    return out;
}

}  // namespace muster

#include "config/config_load.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/check.h"
#include "config/config_toml.h"
#include "config/config_value.h"

namespace muster {
namespace {

// Secrets shorter than this can be guessed.
constexpr std::size_t secret_bytes_advised = 16;

const ConfigKey& key_named(std::string_view full_name) {
    const ConfigKey* key = find_key_by_full_name(full_name);
    MUSTER_CHECK(key != nullptr, "checks speak of keys that exist");
    return *key;
}

// "10s (default)"
std::string value_and_origin(const ConfigKey& key, const ConfigDraft& draft) {
    return fmt::format("{} ({})", value_text(key, draft.config), draft.origins.of(key).to_string());
}

// Tells of two keys that do not fit. The one that was set is named first: a default is nobody's mistake.
void refuse_pair(ConfigDraft& draft, const ConfigKey& one, std::string_view must, const ConfigKey& other,
                 std::string_view other_must) {
    const bool other_was_set = draft.origins.of(one).source == ConfigOrigin::Source::built_in;
    const ConfigKey& first = other_was_set ? other : one;
    const ConfigKey& second = other_was_set ? one : other;
    draft.refuse(first, fmt::format("{} {} {} = {}", value_text(first, draft.config), other_was_set ? other_must : must,
                                    second.full_name(), value_and_origin(second, draft)));
}

void check_order(ConfigDraft& draft) {
    const Config& c = draft.config;
    struct Rule {
        std::string_view larger;
        std::string_view smaller;
        bool holds;
        std::string_view must;
        std::string_view smaller_must;
    };
    constexpr std::string_view longer = "must be longer than";
    constexpr std::string_view shorter = "must be shorter than";
    constexpr std::string_view at_least = "must be at least";
    constexpr std::string_view at_most = "must be at most";
    const Rule rules[] = {
        {"players.ping_timeout", "players.ping_interval", c.players.ping_timeout > c.players.ping_interval, longer,
         shorter},
        {"players.idle_kick_after", "players.idle_after", c.players.idle_kick_after > c.players.idle_after, longer,
         shorter},
        {"game.max_tick_duration_milliseconds", "game.tick_rate_milliseconds",
         c.game.max_tick_duration_milliseconds >= c.game.tick_rate_milliseconds, at_least, at_most},
        {"fleet.allocation_deadline", "fleet.allocation_ack_timeout",
         c.fleet.allocation_deadline >= c.fleet.allocation_ack_timeout, at_least, at_most},
        {"limits.total_buffers", "limits.unsent_bytes", c.limits.total_buffers >= c.limits.unsent_bytes, at_least,
         at_most},
    };
    for (const Rule& rule : rules) {
        const ConfigKey& larger = key_named(rule.larger);
        const ConfigKey& smaller = key_named(rule.smaller);
        if (rule.holds || draft.refused(larger) || draft.refused(smaller)) continue;
        refuse_pair(draft, larger, rule.must, smaller, rule.smaller_must);
    }
}

void check_addresses(ConfigDraft& draft) {
    const Config::Listen& listen = draft.config.listen;
    const std::pair<std::string_view, ListenAddress> all[] = {{"listen.servers", listen.servers},
                                                              {"listen.matchmakers", listen.matchmakers},
                                                              {"listen.players", listen.players},
                                                              {"listen.http", listen.http}};
    for (std::size_t i = 0; i < std::size(all); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            const ConfigKey& one = key_named(all[i].first);
            const ConfigKey& other = key_named(all[j].first);
            if (!collide(all[i].second, all[j].second) || draft.refused(one) || draft.refused(other)) continue;
            constexpr std::string_view taken = "is taken by";
            refuse_pair(draft, one, taken, other, taken);
        }
    }
}

bool is_set(const ConfigDraft& draft, const ConfigKey& key) {
    return draft.origins.of(key).source != ConfigOrigin::Source::built_in;
}

// One store, not two; and a node is one of those that share a database.
void check_store(ConfigDraft& draft) {
    const ConfigKey& url = key_named("store.url");
    const ConfigKey& path = key_named("store.path");
    if (is_set(draft, url) && is_set(draft, path) && !draft.refused(url) && !draft.refused(path))
        draft.refuse(url, fmt::format("is not possible together with store.path = {}; leave one of them out",
                                      value_and_origin(path, draft)));
    if (is_set(draft, url)) return;
    const ConfigKey& password_file = key_named("store.password_file");
    const Config defaults;
    for (const ConfigKey& key : config_keys()) {
        const bool is_of_nodes = key.table == "cluster" || &key == &password_file;
        if (is_of_nodes && !same_value(key, draft.config, defaults) && !draft.refused(key))
            draft.refuse(key, "means nothing without store.url");
    }
}

// "eu", "people" and "us", each in quotes.
std::string names_of(const CellPlans& cells) {
    std::string text;
    for (std::size_t i = 0; i < cells.size(); ++i)
        text += fmt::format("{}\"{}\"", i == 0 ? "" : i + 1 == cells.size() ? " and " : ", ", cells[i].name);
    return text;
}

// Every region belongs to one cell, and players to one at least (N-7). That no region is in two was judged before.
void check_cells(ConfigDraft& draft) {
    const ConfigKey& cells = key_named("cluster.cells");
    const ConfigKey& prefer = key_named("cluster.prefer");
    const Config& c = draft.config;
    if (draft.refused(cells)) return;
    const auto problem = [&]() -> std::string {
        if (c.cluster.cells.empty()) return {};
        const auto has_players = [](const CellPlan& cell) { return cell.players; };
        if (std::ranges::none_of(c.cluster.cells, has_players)) return "players are in no cell";
        for (const Region& region : c.fleet.regions) {
            const auto has_region = [&region](const CellPlan& cell) {
                return std::ranges::find(*cell.regions, region.id) != cell.regions->end();
            };
            if (std::ranges::none_of(c.cluster.cells, has_region))
                return fmt::format("region {} is in no cell", region.id.value);
        }
        for (const CellPlan& cell : c.cluster.cells)
            for (const RegionId region : *cell.regions)
                if (std::ranges::find(c.fleet.regions, region, &Region::id) == c.fleet.regions.end())
                    return fmt::format("there is no region {} in fleet.regions", region.value);
        return {};
    }();
    if (!problem.empty()) return draft.refuse(cells, problem);
    const CellPlans planned = planned_cells(c);
    for (const std::string& name : c.cluster.prefer)
        if (std::ranges::find(planned, name, &CellPlan::name) == planned.end() && !draft.refused(prefer))
            return draft.refuse(prefer, fmt::format("there is no cell \"{}\"; there is {}", name, names_of(planned)));
}

// What is allowed but hardly meant.
void warn(ConfigDraft& draft) {
    const Config& c = draft.config;
    const auto silent_too_soon = [&draft](std::string_view timeout, std::string_view interval) {
        draft.warnings.push_back(fmt::format("{} = {} is not longer than {} = {}", timeout,
                                             value_and_origin(key_named(timeout), draft), interval,
                                             value_and_origin(key_named(interval), draft)));
    };
    // Peers choose when they send their heartbeats, so these may still be right together.
    if (c.fleet.heartbeat_timeout <= c.fleet.heartbeat_interval)
        silent_too_soon("fleet.heartbeat_timeout", "fleet.heartbeat_interval");
    if (c.matchmakers.heartbeat_timeout <= c.matchmakers.heartbeat_interval)
        silent_too_soon("matchmakers.heartbeat_timeout", "matchmakers.heartbeat_interval");
    for (const ConfigKey& key : config_keys()) {
        const auto* type = std::get_if<SecretKey>(&key.type);
        if (!type) continue;
        const std::vector<Secret>& secrets = type->place(draft.config).all();
        const bool long_enough = std::all_of(
            secrets.begin(), secrets.end(), [](const Secret& secret) { return secret.size() >= secret_bytes_advised; });
        if (long_enough) continue;
        draft.warnings.push_back(
            fmt::format("{} is shorter than {} bytes and can be guessed", key.full_name(), secret_bytes_advised));
    }
}

}  // namespace

ConfigDraft draft_config(const ConfigSource& source,
                         const std::function<void(const Environment&, ConfigDraft&)>& read_secrets) {
    ConfigDraft draft;
    if (source.file) read_toml_file(*source.file, draft);
    read_environment(source.environment, draft);
    read_secrets(source.environment, draft);
    check_order(draft);
    check_addresses(draft);
    check_store(draft);
    check_cells(draft);
    if (!draft.has_problems()) warn(draft);
    return draft;
}

Result<LoadedConfig, ConfigProblems> load_config(const ConfigSource& source) {
    ConfigDraft draft = draft_config(source, read_secret_files);
    if (draft.has_problems()) return Failure<ConfigProblems>(draft.problems());
    return LoadedConfig{std::move(draft.config), std::move(draft.origins), std::move(draft.warnings)};
}

}  // namespace muster

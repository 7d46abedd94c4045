// `muster matches`: what runs, and what was over lately.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/figures.h"
#include "cli/listing.h"
#include "cli/standard_output.h"
#include "cli/terminal.h"

namespace muster {
namespace {

struct MatchesArguments : ListArguments {
    std::optional<std::string> region;
    std::optional<std::string> state;
    std::optional<std::int64_t> server;
};

constexpr const char* all_states = "all";
constexpr const char* how_to_see_more = "showing live matches only; --state over shows finished ones, --state all both";

// When it came into its state; 0 where that is not known.
std::int64_t since_ms(const JsonValue& match) {
    for (const char* step : {"ended_at_ms", "started_at_ms", "ready_at_ms", "allocated_at_ms", "requested_at_ms"})
        if (!match[step].is_null()) return match[step].integer();
    return 0;
}

// Those that run first, and the newest first among them and among the others.
void sort_matches(std::vector<JsonValue>& matches) {
    const auto key = [](const JsonValue& match) {
        return std::pair(match["ended_at_ms"].is_null() ? 0 : 1, -since_ms(match));
    };
    std::stable_sort(matches.begin(), matches.end(),
                     [&](const JsonValue& one, const JsonValue& other) { return key(one) < key(other); });
}

int show(const MatchesArguments& arguments) {
    ApiClient api = ApiClient::from_environment();
    const RegionNames regions(api);
    // The first to be shown may be the last of the API's.
    ListQuery query{"matches", {}, arguments.json ? arguments.limit : 0};
    if (arguments.region) query.filter += fmt::format("&region={}", regions.id(*arguments.region));
    const std::string state_shown = arguments.state.value_or("live");
    if (state_shown != all_states) query.filter += "&state=" + state_shown;
    if (arguments.server) query.filter += fmt::format("&server={}", *arguments.server);
    Listing listing = list(api, query);
    if (arguments.json) return print_json(listing.to_json("matches"));
    sort_matches(listing.rows);
    listing.cut_to(arguments.limit, "lobby_id");

    constexpr auto right = Column::Align::right;
    TextTable table({{"LOBBY", right},
                     {"STATE"},
                     {"REGION"},
                     {"SERVER", right},
                     {"MATCHMAKER"},
                     {"PLAYERS", right},
                     {"RATING", right},
                     {"SINCE"},
                     {"REASON"}});
    for (const JsonValue& match : listing.rows) {
        const std::string state = safe_text(match["state"].text());
        table.add({{fmt::to_string(match["lobby_id"].integer())},
                   {state, status_style(state)},
                   {regions.name(match["region"].integer())},
                   {match["server_id"].is_null() ? "-" : fmt::to_string(match["server_id"].integer())},
                   {safe_text(match["matchmaker"].text())},
                   {fmt::format("{}/{}", match["tokens_used"].integer(), match["player_count"].integer())},
                   {fmt::to_string(match["average_rating"].integer())},
                   {since_ms(match) > 0 ? moment_text(since_ms(match)) : "-"},
                   {safe_text(match["reason"].text())}});
    }
    const int code = print_list(table, listing, arguments.state ? "no such matches" : "no match runs");
    if (!arguments.state) print_error("{}\n", how_to_see_more);
    return code;
}

}  // namespace

Command matches_command() {
    const auto arguments = std::make_shared<MatchesArguments>();
    CommandOption state{"--state", "STATE", "Only matches in this state; live (default), over and all are groups",
                        &arguments->state};
    state.choices = {"offering", "allocated", "ready", "started", "ended", "aborted", "live", "over", all_states};
    return {"matches",
            "List matches, live or finished",
            {{"--region", "REGION", "Only this region, by name or number", &arguments->region},
             state,
             {"--server", "ID", "Only matches on this server", &arguments->server},
             limit_option(*arguments),
             json_option(arguments->json)},
            "Live matches, unless --state says otherwise; newest first. PLAYERS is admitted/expected.\n",
            [arguments] { return show(*arguments); }};
}

}  // namespace muster

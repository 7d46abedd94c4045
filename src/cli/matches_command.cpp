// `muster matches`: what runs, and what was over lately.
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/figures.h"
#include "cli/listing.h"
#include "cli/terminal.h"

namespace muster {
namespace {

struct Arguments : ListArguments {
    std::optional<std::string> region;
    std::optional<std::string> state;
    std::optional<std::int64_t> server;
};

std::string since(const JsonValue& match) {
    for (const char* step : {"ended_at_ms", "started_at_ms", "ready_at_ms", "allocated_at_ms", "requested_at_ms"})
        if (!match[step].is_null()) return moment_text(match[step].integer());
    return "-";
}

int show(const Arguments& arguments) {
    ApiClient api = ApiClient::from_environment();
    const RegionNames regions(api);
    ListQuery query{"matches", {}, arguments.limit};
    if (arguments.region) query.filter += fmt::format("&region={}", regions.id(*arguments.region));
    if (arguments.state) query.filter += "&state=" + *arguments.state;
    if (arguments.server) query.filter += fmt::format("&server={}", *arguments.server);
    const Listing listing = list(api, query);
    if (arguments.json) return print_json(listing.to_json("matches"));

    constexpr auto right = Column::Align::right;
    TextTable table({{"LOBBY", right},
                     {"STATE"},
                     {"REGION"},
                     {"SERVER", right},
                     {"CHAT SERVER"},
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
                   {safe_text(match["chat_server"].text())},
                   {fmt::format("{}/{}", match["tokens_used"].integer(), match["player_count"].integer())},
                   {fmt::to_string(match["average_rating"].integer())},
                   {since(match)},
                   {safe_text(match["reason"].text())}});
    }
    return print_list(table, listing, "no such matches");
}

}  // namespace

Command matches_command() {
    const auto arguments = std::make_shared<Arguments>();
    CommandOption state{"--state", "STATE", "Only in this state; live and over are groups of them", &arguments->state};
    state.choices = {"offering", "allocated", "ready", "started", "ended", "aborted", "live", "over"};
    return {"matches",
            "The matches that run, and those that were over lately",
            {{"--region", "REGION", "Only of this region, by name or number", &arguments->region},
             state,
             {"--server", "ID", "Only on this server", &arguments->server},
             limit_option(*arguments),
             json_option(arguments->json)},
            "PLAYERS is how many were let in, of how many are expected.\n",
            [arguments] { return show(*arguments); }};
}

}  // namespace muster

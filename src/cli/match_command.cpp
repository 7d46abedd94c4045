// `muster match LOBBY`: one match from its request to its end, and why its server was chosen.
#include <memory>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/figures.h"
#include "cli/listing.h"
#include "cli/match_timeline.h"
#include "cli/standard_output.h"
#include "cli/terminal.h"

namespace muster {
namespace {

// A page looks at 20,000 events at most: so far back an old match is found.
constexpr int pages_max = 50;

struct MatchArguments {
    std::int64_t lobby = 0;
    bool json = false;
};

// Null when Muster does not know it any more, or never did.
JsonValue match_of(ApiClient& api, std::int64_t lobby) try {
    return api.get(fmt::format("/matches/{}", lobby));
} catch (const NotThere&) {
    return {};
}

// Oldest first.
std::vector<JsonValue> events_of(ApiClient& api, std::int64_t lobby, const JsonValue& match) {
    std::string filter = fmt::format("lobby={}&limit=1000", lobby);
    if (!match.is_null()) filter += fmt::format("&since_ms={}", match["requested_at_ms"].integer());
    std::vector<JsonValue> events;
    std::string before;
    for (int page = 0; page < pages_max; ++page) {
        const JsonValue answer = api.get(fmt::format("/events?{}{}", filter, before));
        const auto older = answer["events"].items();
        events.insert(events.begin(), older.begin(), older.end());
        if (answer["previous"].is_null()) break;
        // A cursor where there are several cells.
        const std::string_view cursor = answer["previous"].text();
        before = cursor.empty() ? fmt::format("&before={}", answer["previous"].integer())
                                : fmt::format("&before={}", query_encoded(cursor));
    }
    return events;
}

std::string players_text(const JsonValue& match) {
    constexpr std::size_t shown_max = 20;
    std::string text = fmt::format("{} of {} let in", match["tokens_used"].integer(), match["player_count"].integer());
    const auto players = match["players"].items();
    for (std::size_t i = 0; i < players.size() && i < shown_max; ++i)
        text += fmt::format("{}{}", i == 0 ? ": " : ", ", players[i]["id"].integer());
    if (players.size() > shown_max) text += fmt::format(" and {} more", players.size() - shown_max);
    return text;
}

std::string facts_of(const JsonValue& match, const RegionNames& regions, bool colours) {
    const std::string state = safe_text(match["state"].text());
    std::vector<std::pair<std::string, Cell>> facts{
        {"lobby", {fmt::to_string(match["lobby_id"].integer())}},
        {"state", {state, status_style(state)}},
        {"server", {match["server_id"].is_null() ? "-" : fmt::to_string(match["server_id"].integer())}},
        {"region", {regions.name(match["region"].integer())}},
        {"matchmaker", {safe_text(match["matchmaker"].text())}},
        {"players", {players_text(match)}},
    };
    if (!match["reason"].text().empty()) facts.push_back({"reason", {safe_text(match["reason"].text())}});
    return described(facts, colours);
}

int show(const MatchArguments& arguments) {
    ApiClient api = ApiClient::from_environment();
    const JsonValue match = match_of(api, arguments.lobby);
    const std::vector<JsonValue> events = events_of(api, arguments.lobby, match);
    if (match.is_null() && events.empty())
        throw CommandFailure(exit_failed,
                             fmt::format("nothing is known of lobby {}; `muster matches --state all` lists "
                                         "what is, and the event history reaches back only so far",
                                         arguments.lobby));
    if (arguments.json) {
        std::string list;
        for (const JsonValue& event : events) list += (list.empty() ? "" : ",") + event.to_json();
        return print_json(
            fmt::format("{{\"match\":{},\"events\":[{}]}}", match.is_null() ? "null" : match.to_json(), list));
    }
    const RegionNames regions(api);
    const bool colours = colours_wanted();
    TextTable table({{"AT"}, {"STEP"}, {"WHAT"}});
    for (const TimelineStep& step : timeline_of(match, events, regions))
        table.add({{moment_text(step.time_ms)}, {step.what, status_style(step.what)}, {step.text}});
    const std::string facts = match.is_null() ? "" : facts_of(match, regions, colours) + "\n";
    return to_int(print_result(facts + table.to_text(colours)));
}

}  // namespace

Command match_command() {
    const auto arguments = std::make_shared<MatchArguments>();
    return {"match",
            "Show one match from its request to its end",
            {{"LOBBY", "", "Its lobby, as `muster matches` shows it", &arguments->lobby, true},
             json_option(arguments->json)},
            "An offer tells why it went to that server: how many could have taken the match, its score, and the\n"
            "runner-up servers.\n",
            [arguments] { return show(*arguments); }};
}

}  // namespace muster

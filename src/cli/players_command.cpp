// `muster players`: who is there.
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/figures.h"
#include "cli/listing.h"
#include "cli/terminal.h"

namespace muster {
namespace {

struct PlayersArguments : ListArguments {
    bool idle = false;
    bool away = false;
    std::optional<std::string> name;
};

Cell state_of(const JsonValue& player) {
    if (!player["connected"].flag()) return {"away", Style::yellow};
    if (player["idle"].flag()) return {"idle", Style::dim};
    return {"active", Style::green};
}

int show(const PlayersArguments& arguments) {
    ApiClient api = ApiClient::from_environment();
    ListQuery query{"players", {}, arguments.limit};
    if (arguments.idle) query.filter += "&idle=true";
    if (arguments.away) query.filter += "&connected=false";
    if (arguments.name) query.limit = 0;  // may be the last
    Listing listing = list(api, query);
    if (arguments.name) {
        std::erase_if(listing.rows, [&](const JsonValue& player) {
            return player["name"].text().find(*arguments.name) == std::string_view::npos;
        });
        listing.cut_to(arguments.limit, "id");
    }
    if (arguments.json) return print_json(listing.to_json("players"));

    constexpr auto right = Column::Align::right;
    TextTable table(
        {{"ID", right}, {"NAME"}, {"STATE"}, {"LATENCY", right}, {"JITTER", right}, {"SINCE"}, {"HEARD", right}});
    for (const JsonValue& player : listing.rows) {
        table.add({{fmt::to_string(player["id"].integer())},
                   {safe_text(player["name"].text())},
                   state_of(player),
                   {round_trip_text(player["latency_ms"].number())},
                   {player["latency_ms"].number() > 0 ? fmt::format("{:.1f} ms", player["jitter_ms"].number()) : "-"},
                   {moment_text(player["connected_at_ms"].integer())},
                   {span_text(player["last_message_ms_ago"].number() / 1000) + " ago"}});
    }
    return print_list(table, listing, "no such players");
}

}  // namespace

Command players_command() {
    const auto arguments = std::make_shared<PlayersArguments>();
    return {"players",
            "List players",
            {{"--name", "TEXT", "Only players whose name contains this", &arguments->name},
             {"--idle", "", "Only idle players", &arguments->idle},
             {"--away", "", "Only players whose connection was lost and whose session is kept", &arguments->away},
             limit_option(*arguments),
             json_option(arguments->json)},
            {},
            [arguments] { return show(*arguments); }};
}

}  // namespace muster

// `muster abort LOBBY`: ends a match, or the request for one.
#include <memory>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/json_fields.h"
#include "cli/commands.h"
#include "cli/listing.h"
#include "cli/standard_output.h"
#include "cli/terminal.h"

namespace muster {
namespace {

struct Arguments {
    std::int64_t lobby = 0;
    std::string reason;
    bool json = false;
};

// Who is told, besides the players. Asked before the match is aborted; nobody where the daemon does not show it yet.
std::string told_text(ApiClient& api, std::int64_t lobby) try {
    constexpr std::string_view over_http = "http";  // what the API calls the asker of a match asked for through it
    const JsonValue match = api.get(fmt::format("/matches/{}", lobby));
    std::string who;
    if (!match["server_id"].is_null()) who = fmt::format("server {}", match["server_id"].integer());
    const std::string_view matchmaker = match["matchmaker"].text();
    if (!matchmaker.empty() && matchmaker != over_http)
        who += fmt::format("{}matchmaker {}", who.empty() ? "" : " and ", safe_text(matchmaker));
    return who.empty() ? who : fmt::format("; {} will be told", who);
} catch (const NotThere&) {
    return {};
}

int abort(const Arguments& arguments) try {
    ApiClient api = ApiClient::from_environment();
    const std::string told = told_text(api, arguments.lobby);
    JsonFields body;
    if (!arguments.reason.empty()) body.text("reason", arguments.reason);
    const JsonValue done = api.post(fmt::format("/matches/{}/abort", arguments.lobby), body.finish());
    if (arguments.json) return print_json(done.to_json());
    return to_int(print_result(fmt::format("the match of lobby {} is aborted{}\n", arguments.lobby, told)));
} catch (const NotThere&) {
    throw CommandFailure(exit_failed,
                         fmt::format("no match of lobby {}; `muster matches` lists them", arguments.lobby));
} catch (const CommandFailure& failure) {
    if (failure.exit_code != exit_failed) throw;
    throw CommandFailure(exit_failed, fmt::format("lobby {}: {}", arguments.lobby, failure.what()));
}

}  // namespace

Command abort_command() {
    const auto arguments = std::make_shared<Arguments>();
    return {"abort",
            "Abort a match or a pending request",
            {{"LOBBY", "", "The lobby, as `muster matches` shows it", &arguments->lobby, true},
             {"--reason", "TEXT", "Reason told to the game server and the matchmaker", &arguments->reason},
             json_option(arguments->json)},
            {},
            [arguments] { return abort(*arguments); }};
}

}  // namespace muster

// `muster abort LOBBY`: ends a match, or the request for one. With --server, all matches of a server.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/json_fields.h"
#include "cli/commands.h"
#include "cli/listing.h"
#include "cli/standard_output.h"
#include "cli/terminal.h"
#include "process/exit_code.h"

namespace muster {
namespace {

struct AbortArguments {
    std::optional<std::int64_t> lobby;
    std::optional<std::int64_t> server;
    std::string reason;
    bool json = false;
};

std::string body_of(const AbortArguments& arguments) {
    JsonFields body;
    if (!arguments.reason.empty()) body.text("reason", arguments.reason);
    return body.finish();
}

// Who is told, besides the players. Asked before the match is aborted; nobody where the daemon does not show it yet.
std::string told_text(ApiClient& api, std::int64_t lobby) try {
    const JsonValue match = api.get(fmt::format("/matches/{}", lobby));
    std::string who;
    if (!match["server_id"].is_null()) who = fmt::format("server {}", match["server_id"].integer());
    const std::string_view matchmaker = match["matchmaker"].text();
    if (!matchmaker.empty() && !matchmaker.starts_with('@'))  // those ask over HTTP, and are told nothing
        who += fmt::format("{}matchmaker {}", who.empty() ? "" : " and ", safe_text(matchmaker));
    return who.empty() ? who : fmt::format("; {} will be told", who);
} catch (const NotThere&) {
    return {};
}

int abort_one(ApiClient& api, const AbortArguments& arguments, std::int64_t lobby) try {
    const std::string told = told_text(api, lobby);
    const JsonValue done = api.post(fmt::format("/matches/{}/abort", lobby), body_of(arguments));
    if (arguments.json) return print_json(done.to_json());
    return to_int(print_result(fmt::format("the match of lobby {} is aborted{}\n", lobby, told)));
} catch (const NotThere&) {
    throw CommandFailure(exit_failed, fmt::format("no match of lobby {}; `muster matches` lists them", lobby));
} catch (const CommandFailure& failure) {
    if (failure.exit_code != exit_failed) throw;
    throw CommandFailure(exit_failed, fmt::format("lobby {}: {}", lobby, failure.what()));
}

int abort_all(ApiClient& api, const AbortArguments& arguments, std::int64_t server) try {
    const JsonValue done = api.post(fmt::format("/servers/{}/abort", server), body_of(arguments));
    if (arguments.json) return print_json(done.to_json());
    return to_int(
        print_result(fmt::format("{} matches of server {} are aborted\n", done["aborted"].integer(), server)));
} catch (const NotThere&) {
    throw CommandFailure(exit_failed, fmt::format("no server {}; `muster servers` lists them", server));
}

int abort(const AbortArguments& arguments) {
    if (!arguments.lobby && !arguments.server)
        throw CommandFailure(to_int(ExitCode::usage), "which match? Give its lobby, or --server");
    ApiClient api = ApiClient::from_environment();
    return arguments.server ? abort_all(api, arguments, *arguments.server)
                            : abort_one(api, arguments, *arguments.lobby);
}

}  // namespace

Command abort_command() {
    const auto arguments = std::make_shared<AbortArguments>();
    CommandOption lobby{"LOBBY", "", "The lobby, as `muster matches` shows it", &arguments->lobby};
    lobby.required_or_other = true;
    CommandOption server{"--server", "ID", "All matches of this server", &arguments->server};
    server.excludes = {"LOBBY"};
    return {"abort",
            "Abort a match or a pending request, or all matches of a server",
            {lobby,
             server,
             {"--reason", "TEXT", "Reason told to the game server and the matchmaker", &arguments->reason},
             json_option(arguments->json)},
            {},
            [arguments] { return abort(*arguments); }};
}

}  // namespace muster

// `muster kick ID`: ends a player's session.
#include <memory>

#include <fmt/format.h>

#include "base/json_fields.h"
#include "cli/commands.h"
#include "cli/listing.h"
#include "cli/standard_output.h"

namespace muster {
namespace {

struct KickArguments {
    std::int64_t id = 0;
    std::string reason;
    bool json = false;
};

int kick(const KickArguments& arguments) try {
    ApiClient api = ApiClient::from_environment();
    JsonFields body;
    if (!arguments.reason.empty()) body.text("reason", arguments.reason);
    const JsonValue done = api.post(fmt::format("/players/{}/kick", arguments.id), body.finish());
    if (arguments.json) return print_json(done.to_json());
    return to_int(print_result(fmt::format("player {} was kicked\n", arguments.id)));
} catch (const NotThere&) {
    throw CommandFailure(exit_failed, fmt::format("no player {} is here; `muster players` lists them", arguments.id));
}

}  // namespace

Command kick_command() {
    const auto arguments = std::make_shared<KickArguments>();
    return {"kick",
            "End a player's session",
            {{"ID", "", "The player's id, as `muster players` shows it", &arguments->id, true},
             {"--reason", "TEXT", "Why, for the event history and the daemon's log", &arguments->reason},
             json_option(arguments->json)},
            {},
            [arguments] { return kick(*arguments); }};
}

}  // namespace muster

// `muster abort LOBBY`: ends a match, or the request for one.
#include <memory>

#include <fmt/format.h>

#include "base/json_fields.h"
#include "cli/commands.h"
#include "cli/listing.h"
#include "cli/standard_output.h"

namespace muster {
namespace {

struct Arguments {
    std::int64_t lobby = 0;
    std::string reason;
    bool json = false;
};

int abort(const Arguments& arguments) {
    ApiClient api = ApiClient::from_environment();
    JsonFields body;
    if (!arguments.reason.empty()) body.text("reason", arguments.reason);
    const JsonValue done = api.post(fmt::format("/matches/{}/abort", arguments.lobby), body.finish());
    if (arguments.json) return print_json(done.to_json());
    return to_int(print_result(
        fmt::format("the match of lobby {} is aborted; its server and its chat server are told\n", arguments.lobby)));
}

}  // namespace

Command abort_command() {
    const auto arguments = std::make_shared<Arguments>();
    return {"abort",
            "Abort a match, or the request for one",
            {{"LOBBY", "", "The lobby", &arguments->lobby, true},
             {"--reason", "TEXT", "What its server and its chat server are told", &arguments->reason},
             json_option(arguments->json)},
            {},
            [arguments] { return abort(*arguments); }};
}

}  // namespace muster

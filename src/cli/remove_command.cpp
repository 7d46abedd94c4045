// `muster remove N…`: takes servers out of the registry by hand.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/json_fields.h"
#include "cli/api_client.h"
#include "cli/commands.h"
#include "cli/listing.h"
#include "cli/standard_output.h"

namespace muster {
namespace {

struct RemoveArguments {
    std::vector<std::int64_t> ids;
    std::string reason;
    bool json = false;
};

// One that is not there does not keep the others from it.
int remove(const RemoveArguments& arguments) {
    ApiClient api = ApiClient::from_environment();
    JsonFields body;
    if (!arguments.reason.empty()) body.text("reason", arguments.reason);
    const std::string body_text = body.finish();
    int worst = 0;
    for (const std::int64_t id : arguments.ids) {
        try {
            const JsonValue done = api.post(fmt::format("/servers/{}/remove", id), body_text);
            const int printed =
                arguments.json
                    ? print_json(done.to_json())
                    : to_int(print_result(fmt::format("server {} is removed; its matches are aborted\n", id)));
            if (printed != 0) return printed;
        } catch (const NotThere&) {
            print_error("muster: no server {}; `muster servers` lists them\n", id);
            worst = exit_failed;
        }
    }
    return worst;
}

}  // namespace

Command remove_command() {
    const auto arguments = std::make_shared<RemoveArguments>();
    return {"remove",
            "Remove servers; their matches are aborted",
            {{"ID", "", "Server id; several may be given", &arguments->ids, true},
             {"--reason", "TEXT", "Why, for the event history", &arguments->reason},
             json_option(arguments->json)},
            "A server that still runs registers anew: stop it first, or use `muster drain`.\n"
            "With --json, prints one object per server and line.\n",
            [arguments] { return remove(*arguments); }};
}

}  // namespace muster

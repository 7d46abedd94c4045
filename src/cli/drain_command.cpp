// `muster drain N` and `muster undrain N`: a server takes no new matches, or does again.
#include <memory>

#include <fmt/format.h>

#include "cli/api_client.h"
#include "cli/commands.h"
#include "cli/listing.h"
#include "cli/standard_output.h"

namespace muster {
namespace {

struct Arguments {
    std::int64_t id = 0;
    bool json = false;
};

int set_draining(const Arguments& arguments, bool draining) {
    ApiClient api = ApiClient::from_environment();
    const JsonValue done =
        api.post(fmt::format("/servers/{}/drain", arguments.id), fmt::format("{{\"draining\":{}}}", draining));
    if (arguments.json) return print_json(done.to_json());
    return to_int(
        print_result(draining ? fmt::format("server {} takes no new matches; those it has may finish\n", arguments.id)
                              : fmt::format("server {} takes matches again\n", arguments.id)));
}

Command command(const char* name, const char* summary, bool draining) {
    const auto arguments = std::make_shared<Arguments>();
    return {name,
            summary,
            {{"ID", "", "The server's id", &arguments->id, true}, json_option(arguments->json)},
            {},
            [arguments, draining] { return set_draining(*arguments, draining); }};
}

}  // namespace

Command drain_command() {
    return command("drain", "Give a server no new matches; those it has may finish", true);
}

Command undrain_command() {
    return command("undrain", "Give a server matches again", false);
}

}  // namespace muster

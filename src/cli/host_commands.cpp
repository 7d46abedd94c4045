// `muster restart HOST/PROCESS` and `muster scale HOST/RUN N`: what may be asked of an agent from afar.
#include <memory>
#include <string>

#include <fmt/format.h>

#include "base/json_fields.h"
#include "cli/api_client.h"
#include "cli/commands.h"
#include "cli/host_name.h"
#include "cli/listing.h"
#include "cli/standard_output.h"
#include "cli/terminal.h"

namespace muster {
namespace {

struct HostActionArguments {
    std::string place;
    std::int64_t count = 0;
    std::string reason;
    bool json = false;
};

JsonValue asked(const PlaceOnHost& place, const std::string& path, const std::string& body) {
    ApiClient api = ApiClient::from_environment();
    try {
        return api.post(fmt::format("/hosts/{}/{}", query_encoded(place.host), path), body);
    } catch (const NotThere& missing) {
        throw CommandFailure(exit_failed, not_there_text(place, missing.what()));
    }
}

int restart(const HostActionArguments& arguments) {
    const PlaceOnHost place = place_on_host(arguments.place, "PROCESS");
    JsonFields body;
    if (!arguments.reason.empty()) body.text("reason", arguments.reason);
    const JsonValue done = asked(place, fmt::format("processes/{}/restart", query_encoded(place.name)), body.finish());
    if (arguments.json) return print_json(done.to_json());
    return to_int(print_result(
        fmt::format("{} is restarted; a match that it has may finish first\n", safe_text(arguments.place))));
}

int scale(const HostActionArguments& arguments) {
    const PlaceOnHost place = place_on_host(arguments.place, "RUN");
    if (arguments.count < 0) throw CommandFailure(to_int(ExitCode::usage), "a run has no fewer than 0 processes");
    JsonFields body;
    body.integer("count", arguments.count);
    if (!arguments.reason.empty()) body.text("reason", arguments.reason);
    const JsonValue done = asked(place, fmt::format("runs/{}", query_encoded(place.name)), body.finish());
    if (arguments.json) return print_json(done.to_json());
    return to_int(print_result(
        fmt::format("{}: {} wanted\n", safe_text(arguments.place),
                    arguments.count == 1 ? "1 process is" : fmt::format("{} processes are", arguments.count))));
}

}  // namespace

Command restart_command() {
    const auto arguments = std::make_shared<HostActionArguments>();
    return {"restart",
            "Restart a process of a host",
            {{"PROCESS", "HOST/PROCESS", "Its host, a slash and its name in `muster host HOST`: eu-1/arena-3",
              &arguments->place, true},
             {"--reason", "TEXT", "Why, for the event history", &arguments->reason},
             json_option(arguments->json)},
            "A process with a match is ended when the match is over, or after stop_grace_allocated of its run.\n",
            [arguments] { return restart(*arguments); }};
}

Command scale_command() {
    const auto arguments = std::make_shared<HostActionArguments>();
    return {"scale",
            "Set the number of processes of a run on a host",
            {{"RUN", "HOST/RUN", "Its host, a slash and the run's name in the agent's config: eu-1/arena",
              &arguments->place, true},
             {"N", "", "The number of processes, up to count_max of the run", &arguments->count, true},
             {"--reason", "TEXT", "Why, for the event history", &arguments->reason},
             json_option(arguments->json)},
            "The agent keeps this count until the count in its config changes.\n",
            [arguments] { return scale(*arguments); }};
}

}  // namespace muster

// `muster drain N…` and `muster undrain N…`, or --region NAME, or --host NAME: servers take no new matches, or do
// again.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/json_fields.h"
#include "cli/api_client.h"
#include "cli/commands.h"
#include "cli/listing.h"
#include "cli/server_table.h"
#include "cli/standard_output.h"
#include "cli/terminal.h"
#include "process/exit_code.h"

namespace muster {
namespace {

struct DrainArguments {
    std::vector<std::int64_t> ids;
    std::string region;
    std::string address;
    std::string host;
    std::string reason;
    bool json = false;
};

int set_region_draining(ApiClient& api, const DrainArguments& arguments, bool draining, const std::string& body) {
    const RegionNames regions(api);
    const std::int64_t region = regions.id(arguments.region);
    const JsonValue done = api.post(fmt::format("/regions/{}/drain", region), body);
    if (arguments.json) return print_json(done.to_json());
    const char* text = draining ? "{}: {} servers take no new matches; those they have may finish\n"
                                : "{}: {} servers take matches again\n";
    return to_int(print_result(fmt::format(fmt::runtime(text), regions.name(region), done["servers"].integer())));
}

int set_host_draining(ApiClient& api, const DrainArguments& arguments, bool draining, const std::string& body) {
    JsonValue done;
    try {
        done = api.post(fmt::format("/hosts/{}/drain", query_encoded(arguments.host)), body);
    } catch (const NotThere&) {
        throw CommandFailure(exit_failed,
                             fmt::format("no host {}; `muster hosts` lists them", safe_text(arguments.host)));
    }
    if (arguments.json) return print_json(done.to_json());
    const char* text = draining ? "host {}: its processes take no new matches; those they have may finish\n"
                                : "host {}: its processes take matches again\n";
    return to_int(print_result(fmt::format(fmt::runtime(text), safe_text(arguments.host))));
}

std::vector<std::int64_t> ids_at(ApiClient& api, const std::string& address) {
    std::vector<std::int64_t> ids;
    for (const JsonValue& server : list(api, {"servers", {}, 0}).rows) {
        if (is_at(server, address)) ids.push_back(server["id"].integer());
    }
    if (ids.empty()) throw CommandFailure(exit_failed, fmt::format("no server at {}", safe_text(address)));
    return ids;
}

// One that is not there does not keep the others from it.
int set_draining(const DrainArguments& arguments, bool draining) {
    if (arguments.ids.empty() && arguments.region.empty() && arguments.address.empty() && arguments.host.empty())
        throw CommandFailure(to_int(ExitCode::usage), "which servers? Give their ids, --region, --address or --host");
    ApiClient api = ApiClient::from_environment();
    JsonFields body;
    body.flag("draining", draining);
    if (!arguments.reason.empty()) body.text("reason", arguments.reason);
    const std::string body_text = body.finish();
    if (!arguments.region.empty()) return set_region_draining(api, arguments, draining, body_text);
    if (!arguments.host.empty()) return set_host_draining(api, arguments, draining, body_text);
    int worst = 0;
    for (const std::int64_t id : arguments.address.empty() ? arguments.ids : ids_at(api, arguments.address)) {
        try {
            const JsonValue done = api.post(fmt::format("/servers/{}/drain", id), body_text);
            const char* text = draining ? "server {} takes no new matches; those it has may finish\n"
                                        : "server {} takes matches again\n";
            const int printed =
                arguments.json ? print_json(done.to_json()) : to_int(print_result(fmt::format(fmt::runtime(text), id)));
            if (printed != 0) return printed;
        } catch (const NotThere&) {
            print_error("muster: no server {}; `muster servers` lists them\n", id);
            worst = exit_failed;
        }
    }
    return worst;
}

Command command(const char* name, const char* summary, bool draining) {
    const auto arguments = std::make_shared<DrainArguments>();
    CommandOption id{"ID", "", "Server id; several may be given", &arguments->ids};
    id.required_or_other = true;
    CommandOption region{"--region", "REGION", "All servers of this region, by name or number", &arguments->region};
    region.excludes = {"ID"};
    CommandOption address{"--address", "IP[:PORT]", "All servers at this address", &arguments->address};
    address.excludes = {"ID", "--region"};
    CommandOption host{"--host", "NAME", "All processes of this host", &arguments->host};
    host.excludes = {"ID", "--region", "--address"};
    return {name,
            summary,
            {id,
             region,
             address,
             host,
             {"--reason", "TEXT", "Why, for the event history", &arguments->reason},
             json_option(arguments->json)},
            "With --json, prints one object per server and line.\n",
            [arguments, draining] { return set_draining(*arguments, draining); }};
}

}  // namespace

Command drain_command() {
    return command("drain", "Stop giving matches to servers; running matches finish", true);
}

Command undrain_command() {
    return command("undrain", "Give matches to drained servers again", false);
}

}  // namespace muster

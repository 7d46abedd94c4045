// `muster servers`: the game servers.
#include <algorithm>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/listing.h"
#include "cli/server_table.h"

namespace muster {
namespace {

struct ServersArguments : ListArguments {
    std::optional<std::string> region;
    std::optional<std::string> status;
    std::optional<std::string> address;
    std::string order = "id";
    bool reverse = false;
};

int show(const ServersArguments& arguments) {
    ApiClient api = ApiClient::from_environment();
    const RegionNames regions(api);
    ListQuery query{"servers", {}, arguments.limit};
    if (arguments.region) query.filter += fmt::format("&region={}", regions.id(*arguments.region));
    if (arguments.status) query.filter += "&status=" + *arguments.status;
    const bool sorted = arguments.order != "id" || arguments.reverse;
    // The first in another order, or at the address, may be the last in the API's.
    if (sorted || arguments.address) query.limit = 0;

    Listing listing = list(api, query);
    if (arguments.address)
        std::erase_if(listing.rows, [&](const JsonValue& server) { return !is_at(server, *arguments.address); });
    sort_servers(listing.rows, arguments.order);
    if (arguments.reverse) std::reverse(listing.rows.begin(), listing.rows.end());
    listing.cut_to(arguments.limit, "id");
    if (arguments.json) return print_json(listing.to_json("servers"));
    return print_list(server_table(listing.rows, regions), listing, "no such servers");
}

}  // namespace

Command servers_command() {
    const auto arguments = std::make_shared<ServersArguments>();
    CommandOption status{"--status", "STATUS", "Only servers with this status", &arguments->status};
    status.choices = {"available", "full", "draining", "offline"};
    CommandOption order{"--sort", "KEY", "Sort key; id and region ascend, the others descend", &arguments->order};
    order.choices = server_orders;
    return {"servers",
            "List game servers",
            {{"--region", "REGION", "Only this region, by name or number", &arguments->region},
             {"--address", "IP[:PORT]", "Only servers at this address", &arguments->address},
             status,
             order,
             {"--reverse", "", "Reverse the sort order", &arguments->reverse},
             limit_option(*arguments),
             json_option(arguments->json)},
            "MATCHES is current/maximum. A dash means not measured yet.\n",
            [arguments] { return show(*arguments); }};
}

}  // namespace muster

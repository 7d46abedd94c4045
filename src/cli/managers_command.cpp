// `muster managers`: the chat servers and matchmakers that are connected.
#include <memory>

#include "cli/commands.h"
#include "cli/figures.h"
#include "cli/listing.h"
#include "cli/terminal.h"

namespace muster {
namespace {

int show(const ListArguments& arguments) {
    ApiClient api = ApiClient::from_environment();
    const Listing listing = list(api, {"managers", {}, arguments.limit});
    if (arguments.json) return print_json(listing.to_json("managers"));
    const RegionNames regions(api);
    TextTable table({{"NAME"}, {"HEARD", Column::Align::right}, {"REGIONS"}});
    for (const JsonValue& manager : listing.rows) {
        std::string names;
        for (const JsonValue& region : manager["regions"].items())
            names += (names.empty() ? "" : " ") + regions.name(region.integer());
        table.add({{safe_text(manager["id"].text())},
                   {span_text(manager["last_seen_ms_ago"].number() / 1000) + " ago"},
                   {names}});
    }
    return print_list(table, listing, "no chat server is connected");
}

}  // namespace

Command managers_command() {
    const auto arguments = std::make_shared<ListArguments>();
    return {"managers",
            "The chat servers and matchmakers that are connected",
            {limit_option(*arguments), json_option(arguments->json)},
            {},
            [arguments] { return show(*arguments); }};
}

}  // namespace muster

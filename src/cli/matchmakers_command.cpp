// `muster matchmakers`: the matchmakers that are connected.
#include <memory>

#include "cli/commands.h"
#include "cli/figures.h"
#include "cli/listing.h"
#include "cli/terminal.h"

namespace muster {
namespace {

int show(const ListArguments& arguments) {
    ApiClient api = ApiClient::from_environment();
    const Listing listing = list(api, {"matchmakers", {}, arguments.limit});
    if (arguments.json) return print_json(listing.to_json("matchmakers"));
    const RegionNames regions(api);
    TextTable table({{"NAME"}, {"HEARD", Column::Align::right}, {"REGIONS"}});
    for (const JsonValue& matchmaker : listing.rows) {
        std::string names;
        for (const JsonValue& region : matchmaker["regions"].items())
            names += (names.empty() ? "" : " ") + regions.name(region.integer());
        table.add({{safe_text(matchmaker["id"].text())},
                   {span_text(matchmaker["last_seen_ms_ago"].number() / 1000) + " ago"},
                   {names}});
    }
    return print_list(table, listing, "no matchmaker is connected");
}

}  // namespace

Command matchmakers_command() {
    const auto arguments = std::make_shared<ListArguments>();
    return {"matchmakers",
            "List connected matchmakers",
            {limit_option(*arguments), json_option(arguments->json)},
            {},
            [arguments] { return show(*arguments); }};
}

}  // namespace muster

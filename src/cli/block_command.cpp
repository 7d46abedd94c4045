// `muster block KIND VALUE`, `muster unblock KIND VALUE` and `muster blocks`: who is let in no more.
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "base/json_fields.h"
#include "cli/commands.h"
#include "cli/figures.h"
#include "cli/listing.h"
#include "cli/standard_output.h"
#include "cli/terminal.h"
#include "config/config_units.h"
#include "process/exit_code.h"

namespace muster {
namespace {

struct BlockArguments {
    std::string kind;
    std::string value;
    std::optional<std::string> length;
    std::string reason;
    bool json = false;
};

std::int64_t seconds_of(const std::string& text) {
    const auto length = parse_duration(text);
    const auto seconds =
        length ? std::chrono::duration_cast<std::chrono::seconds>(*length).count() : std::chrono::seconds::rep{0};
    if (seconds < 1)
        throw CommandFailure(to_int(ExitCode::usage), "--for wants a time of a second or more, such as 30m, 1h or 7d");
    return seconds;
}

int block(const BlockArguments& arguments) {
    JsonFields body;
    body.text("kind", arguments.kind);
    body.text("value", arguments.value);
    if (arguments.length) body.integer("seconds", seconds_of(*arguments.length));
    if (!arguments.reason.empty()) body.text("reason", arguments.reason);
    ApiClient api = ApiClient::from_environment();
    const JsonValue done = api.post("/blocks", body.finish());
    if (arguments.json) return print_json(done.to_json());
    return to_int(print_result(fmt::format("{} {} is blocked{}\n", safe_text(done["kind"].text()),
                                           safe_text(done["value"].text()),
                                           arguments.length ? " for " + *arguments.length : "")));
}

int unblock(const BlockArguments& arguments) try {
    JsonFields body;
    body.text("kind", arguments.kind);
    body.text("value", arguments.value);
    ApiClient api = ApiClient::from_environment();
    const JsonValue done = api.post("/blocks/remove", body.finish());
    if (arguments.json) return print_json(done.to_json());
    return to_int(print_result(
        fmt::format("{} {} is no longer blocked\n", safe_text(done["kind"].text()), safe_text(done["value"].text()))));
} catch (const NotThere&) {
    throw CommandFailure(exit_failed, fmt::format("{} {} is not blocked; `muster blocks` lists what is", arguments.kind,
                                                  safe_text(arguments.value)));
}

int show_blocks(bool json) {
    ApiClient api = ApiClient::from_environment();
    const Listing listing = list(api, {"blocks", {}, 0});
    if (json) return print_json(listing.to_json("blocks"));
    TextTable table({{"KIND"}, {"VALUE"}, {"SINCE"}, {"UNTIL"}, {"BY"}, {"REASON"}});
    for (const JsonValue& block : listing.rows) {
        table.add({{safe_text(block["kind"].text())},
                   {safe_text(block["value"].text())},
                   {moment_text(block["blocked_at_ms"].integer())},
                   {block["until_ms"].is_null() ? "-" : moment_text(block["until_ms"].integer())},
                   {safe_text(block["blocked_by"].text())},
                   {safe_text(block["reason"].text())}});
    }
    return print_list(table, listing, "nobody is blocked");
}

CommandOption kind_option(BlockArguments& arguments) {
    CommandOption kind{"KIND", "", "What the value is", &arguments.kind, true};
    kind.choices = {"ip", "account", "name"};
    return kind;
}

CommandOption value_option(BlockArguments& arguments) {
    return {"VALUE", "", "An address or a range of them, a player's id, or a player's name", &arguments.value, true};
}

}  // namespace

Command block_command() {
    const auto arguments = std::make_shared<BlockArguments>();
    return {
        "block",
        "Block an address, an account or a name",
        {kind_option(*arguments),
         value_option(*arguments),
         {"--for", "TIME", "How long, such as 30m, 1h or 7d; without it, until unblock", &arguments->length},
         {"--reason", "TEXT", "Why, for the event history", &arguments->reason},
         json_option(arguments->json)},
        "  muster block ip 203.0.113.7 --for 1h\n"
        "  muster block ip 2001:db8::/64\n"
        "  muster block account 42 --reason cheating\n"
        "Closes the connections and sessions that match, and refuses new ones with \"Blocked\". Addresses are blocked\n"
        "at the game ports, not at the HTTP port.\n",
        [arguments] { return block(*arguments); }};
}

Command unblock_command() {
    const auto arguments = std::make_shared<BlockArguments>();
    return {"unblock",
            "Unblock an address, an account or a name",
            {kind_option(*arguments), value_option(*arguments), json_option(arguments->json)},
            {},
            [arguments] { return unblock(*arguments); }};
}

Command blocks_command() {
    const auto json = std::make_shared<bool>(false);
    return {"blocks", "List who is blocked", {json_option(*json)}, {}, [json] { return show_blocks(*json); }};
}

}  // namespace muster

// `muster server N`: one game server, with its load over the last minutes.
#include <memory>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/figures.h"
#include "cli/listing.h"
#include "cli/standard_output.h"
#include "cli/terminal.h"

namespace muster {
namespace {

struct ServerArguments {
    std::int64_t id = 0;
    bool json = false;
};

std::string lobbies_text(const JsonValue& lobbies) {
    constexpr std::size_t shown_max = 20;
    std::string text;
    const auto items = lobbies.items();
    for (std::size_t i = 0; i < items.size() && i < shown_max; ++i)
        text += fmt::format("{}{}", i == 0 ? "" : ", ", items[i].integer());
    if (items.size() > shown_max) text += fmt::format(" and {} more", items.size() - shown_max);
    return text.empty() ? "none" : text;
}

// Who, when and why.
std::string drain_text(const JsonValue& drain) {
    std::string text = "drained by an operator";
    if (!drain["who"].text().empty()) text += " at " + safe_text(drain["who"].text());
    if (!drain["at_ms"].is_null()) text += ", " + moment_text(drain["at_ms"].integer());
    if (!drain["reason"].text().empty()) text += fmt::format(" (\"{}\")", safe_text(drain["reason"].text()));
    return text;
}

std::string flags_text(const JsonValue& server) {
    std::string text;
    const auto say = [&text](std::string_view what) { text += fmt::format("{}{}", text.empty() ? "" : ", ", what); };
    if (!server["connected"].flag()) say("not connected");
    if (server["drained_by_operator"].flag()) say(drain_text(server["drain"]));
    if (server["draining"].flag() && !server["drained_by_operator"].flag()) say("draining by its own request");
    if (server["braked"].flag()) say("silent; kept by the eviction brake");
    return text.empty() ? "-" : text;
}

TextTable history_table(const JsonValue& history) {
    constexpr auto right = Column::Align::right;
    constexpr std::size_t shown_max = 12;
    TextTable table({{"AT"}, {"MATCHES", right}, {"CPU", right}, {"MEMORY", right}, {"RTT", right}});
    const auto samples = history.items();
    for (std::size_t i = samples.size() > shown_max ? samples.size() - shown_max : 0; i < samples.size(); ++i) {
        const LoadText load = load_text(samples[i]["cpu"], samples[i]["memory"]);
        table.add({{moment_text(samples[i]["time_ms"].integer()).substr(0, 8)},
                   {fmt::to_string(samples[i]["matches"].integer())},
                   {load.cpu},
                   {load.memory},
                   {round_trip_text(samples[i]["rtt_ms"].number())}});
    }
    return table;
}

JsonValue server_of(ApiClient& api, std::int64_t id) try {
    return api.get(fmt::format("/servers/{}", id));
} catch (const NotThere&) {
    throw CommandFailure(exit_failed, fmt::format("no server {}; `muster servers` lists them", id));
}

int show(const ServerArguments& arguments) {
    ApiClient api = ApiClient::from_environment();
    const JsonValue server = server_of(api, arguments.id);
    if (arguments.json) return print_json(server.to_json());
    const RegionNames regions(api);
    const std::string status = safe_text(server["status"].text());
    const LoadText load = load_text(server["cpu"], server["memory"]);
    const bool colours = colours_wanted();
    std::string text = described(
        {
            {"server", {fmt::to_string(server["id"].integer())}},
            {"address", {endpoint_text(server)}},
            {"region", {regions.name(server["region"].integer())}},
            {"status", {status, status_style(status)}},
            {"notes", {flags_text(server)}},
            {"matches",
             {fmt::format("{} of {}: reports {}, holds {}, {} offered", server["matches"].integer(),
                          server["max_matches"].integer(), server["reported_matches"].integer(),
                          server["held_matches"].integer(), server["offered_matches"].integer())}},
            {"lobbies", {lobbies_text(server["lobbies"])}},
            {"load", {fmt::format("CPU {}, memory {}", load.cpu, load.memory)}},
            {"heard", {span_text(server["last_heartbeat_ms_ago"].number() / 1000) + " ago"}},
            {"round trip",
             {server["rtt_ms"].number() > 0
                  ? fmt::format("{:.2f} ms, jitter {:.2f} ms", server["rtt_ms"].number(), server["jitter_ms"].number())
                  : std::string("-")}},
            {"chosen", {fmt::format("{} times", server["choices"].integer())}},
            {"registered",
             {fmt::format("{}, epoch {}", moment_text(server["registered_at_ms"].integer()),
                          server["epoch"].integer())}},
        },
        colours);
    if (!server["history"].items().empty()) text += "\n" + history_table(server["history"]).to_text(colours);
    return to_int(print_result(text));
}

}  // namespace

Command server_command() {
    const auto arguments = std::make_shared<ServerArguments>();
    return {"server",
            "Show one game server and its recent load",
            {{"ID", "", "Its id, as `muster servers` shows it", &arguments->id, true}, json_option(arguments->json)},
            {},
            [arguments] { return show(*arguments); }};
}

}  // namespace muster

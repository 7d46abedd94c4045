// `muster hosts`, `muster host NAME` and `muster host forget NAME`: the machines whose agents run game servers, and
// their processes.
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/json_fields.h"
#include "cli/commands.h"
#include "cli/figures.h"
#include "cli/listing.h"
#include "cli/standard_output.h"
#include "cli/terminal.h"

namespace muster {
namespace {

constexpr auto right = Column::Align::right;

Style state_style(std::string_view state) {
    if (state == "ready" || state == "allocated") return Style::green;
    if (state == "crash_loop" || state == "unhealthy") return Style::red;
    if (state == "backoff" || state == "starting" || state == "stopping") return Style::yellow;
    return Style::dim;
}

Cell standing(const JsonValue& host) {
    if (!host["lost_at_ms"].is_null()) return {"lost", Style::red};
    if (!host["connected"].flag()) return {"awaited", Style::yellow};
    if (host["draining"].flag()) return {"draining", Style::yellow};
    return {"connected", Style::green};
}

// "8: 6 ready, 1 allocated, 1 crash_loop".
std::string processes_text(const JsonValue& host) {
    constexpr std::array states{"ready",   "allocated",  "starting",  "stopping",
                                "backoff", "crash_loop", "unhealthy", "stopped"};
    std::string text;
    for (const char* state : states) {
        const auto items = host["processes"].items();
        const auto count = std::count_if(
            items.begin(), items.end(), [state](const JsonValue& process) { return process["state"].text() == state; });
        if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, state);
    }
    return text.empty() ? "none" : text;
}

int show_all(const ListArguments& arguments) {
    ApiClient api = ApiClient::from_environment();
    const Listing listing = list(api, {"hosts", {}, arguments.limit});
    if (arguments.json) return print_json(listing.to_json("hosts"));
    const RegionNames regions(api);
    TextTable table({{"NAME"}, {"STATUS"}, {"ADDRESS"}, {"REGION"}, {"CPU", right}, {"MEMORY", right}, {"PROCESSES"}});
    for (const JsonValue& host : listing.rows) {
        const LoadText load = load_text(host["cpu"], host["memory"]);
        table.add({{safe_text(host["name"].text())},
                   standing(host),
                   {safe_text(host["address"].text())},
                   {regions.name(host["region"].integer())},
                   {load.cpu},
                   {load.memory},
                   {processes_text(host)}});
    }
    return print_list(table, listing,
                      "no hosts yet; start one with `muster agent --config FILE` on a machine that runs game servers");
}

std::string number_text(const JsonValue& value) {
    return value.is_null() ? std::string("-") : fmt::to_string(value.integer());
}

std::string exit_text(const JsonValue& exit) {
    if (exit.is_null()) return "-";
    return fmt::format("{} {}", moment_text(exit["at_ms"].integer()), safe_text(exit["reason"].text()));
}

// Matches of each server, as long as there are not too many servers to ask for.
std::string matches_on(ApiClient& api, const JsonValue& server) try {
    if (server.is_null()) return "-";
    const JsonValue row = api.get(fmt::format("/servers/{}", server.integer()));
    return fmt::format("{}, {}", safe_text(row["status"].text()), row["held_matches"].integer());
} catch (const NotThere&) {
    return "removed";
}

std::string last_words(const JsonValue& host) {
    std::string text;
    for (const JsonValue& process : host["processes"].items()) {
        const JsonValue& exit = process["last_exit"];
        const std::string_view state = process["state"].text();
        const bool stands = state == "ready" || state == "allocated" || state == "stopped";
        if (exit.is_null() || exit["last_lines"].text().empty() || stands) continue;
        text +=
            fmt::format("\n{} said last ({}):\n", safe_text(process["name"].text()), safe_text(exit["reason"].text()));
        std::string_view rest = exit["last_lines"].text();
        while (!rest.empty()) {
            const std::size_t end = std::min(rest.find('\n'), rest.size());
            text += "    " + safe_text(rest.substr(0, end)) + "\n";
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
    }
    return text;
}

struct HostArguments {
    std::vector<std::string> words;
    std::string reason;
    bool json = false;
};

std::string no_host(std::string_view name) {
    return fmt::format("no host {}; `muster hosts` lists them", safe_text(name));
}

int forget(const std::string& name, const HostArguments& arguments) {
    JsonFields body;
    if (!arguments.reason.empty()) body.text("reason", arguments.reason);
    ApiClient api = ApiClient::from_environment();
    JsonValue done;
    try {
        done = api.post(fmt::format("/hosts/{}/forget", query_encoded(name)), body.finish());
    } catch (const NotThere&) {
        throw CommandFailure(exit_failed, no_host(name));
    }
    if (arguments.json) return print_json(done.to_json());
    return to_int(print_result(fmt::format("{} is forgotten until its agent returns\n", safe_text(name))));
}

int show_one(const std::string& name, const HostArguments& arguments) {
    ApiClient api = ApiClient::from_environment();
    JsonValue host;
    try {
        host = api.get("/hosts/" + query_encoded(name));
    } catch (const NotThere&) {
        // A host may be called so; more likely its name was left out.
        if (name == "forget")
            throw CommandFailure(to_int(ExitCode::usage), "forget wants a host's name: muster host forget eu-1");
        throw CommandFailure(exit_failed, no_host(name));
    }
    if (arguments.json) return print_json(host.to_json());
    const RegionNames regions(api);
    const LoadText load = load_text(host["cpu"], host["memory"]);
    const bool colours = colours_wanted();
    std::string text = described(
        {
            {"host", {safe_text(host["name"].text())}},
            {"status", standing(host)},
            {"address", {safe_text(host["address"].text())}},
            {"region", {regions.name(host["region"].integer())}},
            {"version", {safe_text(host["version"].text())}},
            {"load", {fmt::format("CPU {}, memory {}", load.cpu, load.memory)}},
            {"joined", {moment_text(host["joined_at_ms"].integer())}},
            {"lost", {host["lost_at_ms"].is_null() ? std::string("-") : moment_text(host["lost_at_ms"].integer())}},
        },
        colours);
    TextTable table({{"PROCESS"},
                     {"STATE"},
                     {"PID", right},
                     {"PORT", right},
                     {"SERVER", right},
                     {"SERVER'S MATCHES"},
                     {"RESTARTS", right},
                     {"LAST EXIT"}});
    constexpr std::size_t servers_asked_max = 100;
    std::size_t asked = 0;
    for (const JsonValue& process : host["processes"].items()) {
        const std::string state = safe_text(process["state"].text());
        const bool ask = !process["server_id"].is_null() && asked++ < servers_asked_max;
        table.add({{safe_text(process["name"].text())},
                   {state, state_style(state)},
                   {number_text(process["pid"])},
                   {number_text(process["port"])},
                   {number_text(process["server_id"])},
                   {ask ? matches_on(api, process["server_id"]) : std::string("-")},
                   {number_text(process["restarts"])},
                   {exit_text(process["last_exit"])}});
    }
    text += "\n" + table.to_text(colours) + last_words(host);
    return to_int(print_result(text));
}

// `host forget` alone shows a host of that name.
int run_host(const HostArguments& arguments) {
    const auto& words = arguments.words;
    if (words.size() == 1 && arguments.reason.empty()) return show_one(words[0], arguments);
    if (words.size() == 2 && words[0] == "forget") return forget(words[1], arguments);
    throw CommandFailure(to_int(ExitCode::usage), "give NAME, or `forget NAME`; --reason goes with forget only");
}

}  // namespace

Command hosts_command() {
    const auto arguments = std::make_shared<ListArguments>();
    return {"hosts",
            "List hosts whose agents run game servers",
            {limit_option(*arguments), json_option(arguments->json)},
            "After a restart, Muster waits two minutes for the agent of each host; then the host is lost. A lost host\n"
            "stays listed for 24 hours with its last known processes, or until `muster host forget NAME`.\n",
            [arguments] { return show_all(*arguments); }};
}

Command host_command() {
    const auto arguments = std::make_shared<HostArguments>();
    return {"host",
            "Show one host, its processes and why they ended, or forget it",
            {{"NAME", "[forget] NAME", "Its name, as `muster hosts` shows it", &arguments->words, true},
             {"--reason", "TEXT", "Why it is forgotten, for the event history", &arguments->reason},
             json_option(arguments->json)},
            "  muster host eu-1         its processes, and what they wrote last\n"
            "  muster host forget eu-1  remove a host that will not return\n",
            [arguments] { return run_host(*arguments); }};
}

}  // namespace muster

// `muster cluster`: the nodes that share a store, and who owns what (N-11).
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include <fmt/format.h>

#include "base/json_fields.h"
#include "cli/api_client.h"
#include "cli/commands.h"
#include "cli/figures.h"
#include "cli/listing.h"
#include "cli/standard_output.h"
#include "cli/terminal.h"
#include "cli/text_table.h"
#include "process/exit_code.h"

namespace muster {
namespace {

struct ClusterArguments {
    std::string action;
    std::string cell;
    std::string node;
    bool json = false;
};

// How long a hand-over may take before one is told to look again.
constexpr std::chrono::seconds move_max{15};
constexpr std::chrono::milliseconds move_look_every{200};

// Its regions, by number, and whether it has players.
std::string contents_text(const JsonValue& cell) {
    std::string text;
    for (const JsonValue& region : cell["regions"].items())
        text += fmt::format("{}{}", text.empty() ? "regions " : ", ", region.integer());
    if (cell["players"].flag()) text += text.empty() ? "players" : ", players";
    return text;
}

bool is_lost(const JsonValue& cluster, std::string_view name) {
    for (const JsonValue& node : cluster["nodes"].items())
        if (node["name"].text() == name) return !node["alive"].flag();
    return false;
}

std::string cluster_text(const JsonValue& cluster, bool colours) {
    const std::string here(cluster["node"].text());
    TextTable nodes({{"NODE"}, {"STATE"}, {"ADDRESS"}, {"VERSION"}});
    for (const JsonValue& node : cluster["nodes"].items()) {
        const bool alive = node["alive"].flag();
        const std::string name(node["name"].text());
        nodes.add({{safe_text(name) + (name == here ? " (this one)" : "")},
                   {alive ? "alive" : "lost", alive ? Style::plain : Style::red},
                   {safe_text(node["address"].text())},
                   {safe_text(node["version"].text())}});
    }
    const auto now =
        std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch());
    TextTable cells(
        {{"CELL"}, {"OWNER"}, {"TERM", Column::Align::right}, {"BATCH", Column::Align::right}, {"SINCE"}, {"HAS"}});
    for (const JsonValue& cell : cluster["cells"].items()) {
        const std::string owner = safe_text(cell["owner"].text());
        const double seconds = static_cast<double>(now.count() - cell["since_ms"].integer()) / 1'000;
        const bool lost = is_lost(cluster, cell["owner"].text());
        cells.add({{safe_text(cell["name"].text())},
                   {owner.empty() ? "nobody" : owner + (lost ? " (lost)" : ""),
                    owner.empty() || lost ? Style::red : Style::plain},
                   {fmt::to_string(cell["term"].integer())},
                   {fmt::to_string(cell["batch"].integer())},
                   {owner.empty() ? "-" : span_text(seconds > 0 ? seconds : 0) + " ago"},
                   {contents_text(cell)}});
    }
    std::string text = nodes.to_text(colours) + "\n" + cells.to_text(colours);
    if (!cluster["problem"].is_null())
        text += fmt::format("\nThe database does not answer: {}\n", safe_text(cluster["problem"].text()));
    else if (!cluster["engine_ms"].is_null())
        text += fmt::format("\nThe database answers in {:.1f} ms\n", cluster["engine_ms"].number());
    return text;
}

bool owns(const JsonValue& cluster, const std::string& cell, const std::string& node) {
    for (const JsonValue& each : cluster["cells"].items())
        if (each["name"].text() == cell && each["owner"].text() == node) return true;
    return false;
}

// The node that was asked may be the one that stands by afterwards, and is away for a moment then.
JsonValue cluster_once_owned(ApiClient& api, const std::string& cell, const std::string& node) {
    const auto until = std::chrono::steady_clock::now() + move_max;
    for (;;) {
        try {
            JsonValue cluster = api.get("/cluster");
            if (owns(cluster, cell, node)) return cluster;
        } catch (const CommandFailure&) {
            if (std::chrono::steady_clock::now() > until) throw;
        }
        if (std::chrono::steady_clock::now() > until)
            throw CommandFailure(exit_failed,
                                 fmt::format("{} does not own cell {} yet; see `muster cluster`", node, cell));
        std::this_thread::sleep_for(move_look_every);
    }
}

int move(const ClusterArguments& arguments) {
    if (arguments.cell.empty() || arguments.node.empty())
        throw CommandFailure(to_int(ExitCode::usage), "move which cell to which node? `muster cluster` lists both");
    ApiClient api = ApiClient::from_environment();
    JsonFields body;
    body.text("node", arguments.node);
    try {
        static_cast<void>(api.post(fmt::format("/cells/{}/move", query_encoded(arguments.cell)), body.finish()));
    } catch (const NotThere&) {
        throw CommandFailure(exit_failed, fmt::format("no cell {} or no node {}; `muster cluster` lists them",
                                                      safe_text(arguments.cell), safe_text(arguments.node)));
    }
    const JsonValue cluster = cluster_once_owned(api, arguments.cell, arguments.node);
    if (arguments.json) return print_json(cluster.to_json());
    return to_int(print_result(fmt::format("{} owns cell {}\n", arguments.node, arguments.cell)));
}

int show_cluster(const ClusterArguments& arguments) {
    if (arguments.action == "move") return move(arguments);
    ApiClient api = ApiClient::from_environment();
    const JsonValue cluster = api.get("/cluster");
    if (arguments.json) return print_json(cluster.to_json());
    return to_int(print_result(cluster_text(cluster, colours_wanted())));
}

}  // namespace

Command cluster_command() {
    const auto arguments = std::make_shared<ClusterArguments>();
    CommandOption action{"ACTION", "", "`move`: give a cell to another node; omit it to list", &arguments->action};
    action.choices = {"move"};
    return {"cluster",
            "List the nodes that share a store and the cells they own, or move a cell",
            {action,
             {"CELL", "", "The cell to move", &arguments->cell},
             {"NODE", "", "Its new owner", &arguments->node},
             json_option(arguments->json)},
            "  muster cluster                nodes and cells, from any node\n"
            "  muster cluster move main two  node two takes over main\n"
            "A node is one Muster daemon of several that share a PostgreSQL. A cell is a part of the state (regions,\n"
            "players or both) that one node owns at a time; without cluster.cells there is one, main.\n",
            [arguments] { return show_cluster(*arguments); }};
}

}  // namespace muster

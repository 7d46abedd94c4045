// `muster cluster`: the nodes that share a store, and who owns what (N-11).
#include <chrono>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "cli/api_client.h"
#include "cli/commands.h"
#include "cli/figures.h"
#include "cli/listing.h"
#include "cli/standard_output.h"
#include "cli/terminal.h"
#include "cli/text_table.h"

namespace muster {
namespace {

struct Arguments {
    bool json = false;
};

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
    TextTable cells({{"CELL"}, {"OWNER"}, {"TERM", Column::Align::right}, {"BATCH", Column::Align::right}, {"SINCE"}});
    for (const JsonValue& cell : cluster["cells"].items()) {
        const std::string owner = safe_text(cell["owner"].text());
        const double seconds = static_cast<double>(now.count() - cell["since_ms"].integer()) / 1'000;
        cells.add({{safe_text(cell["name"].text())},
                   {owner.empty() ? "nobody" : owner, owner.empty() ? Style::red : Style::plain},
                   {fmt::to_string(cell["term"].integer())},
                   {fmt::to_string(cell["batch"].integer())},
                   {owner.empty() ? "-" : span_text(seconds > 0 ? seconds : 0) + " ago"}});
    }
    std::string text = nodes.to_text(colours) + "\n" + cells.to_text(colours);
    if (!cluster["problem"].is_null())
        text += fmt::format("\nThe database does not answer: {}\n", safe_text(cluster["problem"].text()));
    else if (!cluster["engine_ms"].is_null())
        text += fmt::format("\nThe database answers in {:.1f} ms\n", cluster["engine_ms"].number());
    return text;
}

int show(const Arguments& arguments) {
    ApiClient api = ApiClient::from_environment();
    const JsonValue cluster = api.get("/cluster");
    if (arguments.json) return print_json(cluster.to_json());
    return to_int(print_result(cluster_text(cluster, colours_wanted())));
}

}  // namespace

Command cluster_command() {
    const auto arguments = std::make_shared<Arguments>();
    return {"cluster",
            "List the nodes that share a store, and who owns what",
            {json_option(arguments->json)},
            "Any node answers, also one that stands by.\n",
            [arguments] { return show(*arguments); }};
}

}  // namespace muster

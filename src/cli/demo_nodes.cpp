#include "cli/demo_nodes.h"

#include <array>
#include <thread>

#include <fmt/format.h>

#include "base/json_fields.h"
#include "cli/command.h"
#include "cli/demo_engine.h"
#include "cli/json_value.h"
#include "process/exit_code.h"

namespace muster {
namespace {

constexpr std::chrono::seconds node_start_patience{60};
constexpr std::chrono::milliseconds start_look_every{100};
constexpr std::array node_names{"one", "two", "three", "four", "five", "six", "seven", "eight", "nine"};
static_assert(node_names.size() == DemoNodes::count_max);

// Each of the first nodes has one of them while it is there; the others take over.
constexpr const char* cells =
    R"([{ name = "america", regions = [0, 1, 15] }, { name = "europe", regions = [2, 9, 11] },)"
    R"( { name = "people", players = true }])";
constexpr std::array preferred{R"(["america"])", R"(["europe"])", R"(["people"])"};

}  // namespace

DemoNodes::DemoNodes(const std::filesystem::path& folder, std::map<std::string, std::string> config, std::size_t count,
                     const std::string& url) {
    config.erase("MUSTER_STORE_PATH");
    config["MUSTER_STORE_URL"] = url;
    config["MUSTER_CLUSTER_LISTEN"] = "127.0.0.1:0";
    config["MUSTER_CLUSTER_SILENCE"] = "3s";
    config["MUSTER_CLUSTER_CELLS"] = cells;
    nodes_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
        Node& node = nodes_[i];
        node.name = node_names[i];
        node.folder = folder / node.name;
        std::filesystem::create_directory(node.folder);
        node.config = config;
        node.config["MUSTER_CLUSTER_NODE"] = node.name;
        if (i < preferred.size()) node.config["MUSTER_CLUSTER_PREFER"] = preferred[i];
        if (i > 0) node.config["MUSTER_LISTEN_HTTP"] = "127.0.0.1:0";
        start(node);
    }
}

void DemoNodes::start(Node& node) {
    std::error_code none;
    std::filesystem::remove(node.folder / "ports.json", none);
    node.is_away = false;
    node.process = begin_logged({own_path(), "serve", "--ports-file", (node.folder / "ports.json").string()},
                                node.folder / "log.txt", node.config);
}

bool DemoNodes::has_ports(Node& node) {
    const auto ports = JsonValue::parse(content_of(node.folder / "ports.json"));
    if (!ports || (*ports)["servers"].is_null()) return false;
    const auto keep = [&](std::string& address, const char* port, const char* key) {
        address = (*ports)[port].text();
        node.config[key] = address;  // it comes back to the same place
    };
    keep(node.servers, "servers", "MUSTER_LISTEN_SERVERS");
    keep(node.matchmakers, "matchmakers", "MUSTER_LISTEN_MATCHMAKERS");
    keep(node.players, "players", "MUSTER_LISTEN_PLAYERS");
    keep(node.http, "http", "MUSTER_LISTEN_HTTP");
    return true;
}

bool DemoNodes::wait_until_ready(const std::function<bool()>& goes_on) {
    const auto until = std::chrono::steady_clock::now() + node_start_patience;
    for (Node& node : nodes_) {
        while (!has_ports(node)) {
            if (!goes_on()) return false;
            if (!node.process->running() || std::chrono::steady_clock::now() > until)
                throw CommandFailure(exit_failed, fmt::format("node {} did not start:\n{}", node.name,
                                                              content_of(node.folder / "log.txt")));
            std::this_thread::sleep_for(start_look_every);
        }
    }
    return true;
}

DemoPorts DemoNodes::ports() const {
    DemoPorts all;
    const auto add = [](std::string& to, const std::string& address) { to += (to.empty() ? "" : ",") + address; };
    for (const Node& node : nodes_) {
        add(all.servers, node.servers);
        add(all.matchmakers, node.matchmakers);
        add(all.players, node.players);
    }
    return all;
}

std::string DemoNodes::listed() const {
    std::string lines;
    for (const Node& node : nodes_)
        lines +=
            fmt::format("  node {:<6} http://{}/#/cluster   kill -9 {}\n", node.name, node.http, node.process->pid());
    return lines;
}

std::string DemoNodes::listed_json() const {
    JsonFields out;
    out.begin_list("nodes");
    for (const Node& node : nodes_) {
        out.begin_object({});
        out.text("name", node.name);
        out.text("url", "http://" + node.http);
        out.integer("pid", node.process->pid());
        out.end_object();
    }
    out.end_list();
    out.text("url", first_url());
    return out.finish();
}

std::string DemoNodes::look_after() {
    std::string news;
    const auto now = std::chrono::steady_clock::now();
    for (Node& node : nodes_) {
        if (node.is_away && now - node.ended >= away) {
            start(node);
            news += fmt::format("node {} starts again; kill -9 {}\n", node.name, node.process->pid());
        } else if (!node.is_away && !node.process->running()) {
            node.is_away = true;
            node.ended = now;
            news += fmt::format("node {} has ended; it starts again in {} s\n", node.name, away.count());
        }
    }
    return news;
}

}  // namespace muster

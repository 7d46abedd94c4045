#include "http/cluster_view.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/json_fields.h"
#include "http/json_body.h"
#include "http/page_query.h"

namespace muster {
namespace {

constexpr const char* cluster_path = "/api/v1/cluster";

}  // namespace

std::string cluster_json(const ClusterView& view) {
    JsonFields out;
    out.text("node", view.node);
    out.begin_list("nodes");
    for (const ClusterView::Node& node : view.nodes) {
        out.begin_object({});
        out.text("name", node.name);
        out.text("address", node.address);
        out.text("version", node.version);
        out.flag("alive", node.alive);
        out.end_object();
    }
    out.end_list();
    out.begin_list("cells");
    for (const ClusterView::Cell& cell : view.cells) {
        out.begin_object({});
        out.text("name", cell.name);
        out.begin_list("regions");
        for (const std::int64_t region : cell.regions) out.integer({}, region);
        out.end_list();
        out.flag("players", cell.players);
        out.text("owner", cell.owner);
        out.integer("term", cell.term);
        out.integer("batch", cell.batch);
        out.integer("since_ms", cell.since_ms);
        out.end_object();
    }
    out.end_list();
    if (view.engine_ms) out.real("engine_ms", *view.engine_ms);
    if (!view.problem.empty()) out.text("problem", view.problem);
    return out.finish() + "\n";
}

ClusterVerdict verdict_of(const ClusterView& view) {
    ClusterVerdict verdict;
    for (const ClusterView::Node& node : view.nodes)
        if (!node.alive)
            verdict.warnings.push_back(
                fmt::format("Node {} ({}) is lost: its heartbeat stopped", node.name, node.address));
    for (const ClusterView::Cell& cell : view.cells) {
        const auto owner = std::ranges::find(view.nodes, cell.owner, &ClusterView::Node::name);
        if (cell.owner.empty())
            verdict.problems.push_back(fmt::format("Cell {} has no owner", cell.name));
        else if (owner != view.nodes.end() && !owner->alive)
            verdict.problems.push_back(fmt::format("Cell {} has no owner: node {} is lost", cell.name, cell.owner));
    }
    return verdict;
}

void add_move_route(Routes& routes, AdminGate& gate, MoveCell move) {
    constexpr std::size_t name_max = 64;
    const auto handle = [&gate, move = std::move(move)](HttpRequest&& request, HttpResponder&& responder) {
        if (auto refusal = gate.refusal_of_action(request)) return responder.send(std::move(*refusal));
        JsonBody body(request.body);
        const std::string node = body.optional_text("node", name_max);
        if (const auto error = body.error()) return responder.send(http_error(400, *error));
        if (node.empty()) return responder.send(http_error(400, "node must be given"));
        const std::string cell(request.path_value("cell"));
        switch (move({cell, node, request.operator_name, request.peer.to_string()})) {
            case MoveVerdict::unknown_cell:
                return responder.send(http_error(404, "No such cell"));
            case MoveVerdict::unknown_node:
                return responder.send(http_error(404, "No such node"));
            case MoveVerdict::lost_node:
                return responder.send(http_error(409, "The node is lost"));
            case MoveVerdict::begun:
            case MoveVerdict::has_it_already:
                break;
        }
        JsonFields out;
        out.text("cell", cell);
        out.text("node", node);
        responder.send({200, "application/json", out.finish() + "\n", {}});
    };
    routes.add("POST", "/api/v1/cells/{cell}/move", handle);
}

bool is_cluster_path(std::string_view path) {
    return path == cluster_path;
}

void add_cluster_route(Routes& routes, AdminGate& gate, std::function<ClusterView()> view) {
    routes.add("GET", cluster_path, [&gate, view = std::move(view)](HttpRequest&& request, HttpResponder&& responder) {
        if (auto refusal = gate.refusal_of_read(request)) return responder.send(std::move(*refusal));
        if (const auto error = QueryReader(request).error()) return responder.send(http_error(400, *error));
        responder.send({200, "application/json", cluster_json(view()), {}});
    });
}

}  // namespace muster

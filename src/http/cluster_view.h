// The nodes that share a store and the cells they own, as the API tells it (N-11).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "http/admin_gate.h"
#include "http/routes.h"

namespace muster {

struct ClusterView {
    struct Node {
        std::string name{};
        std::string address{};
        std::string version{};
        bool alive = false;
    };
    struct Cell {
        std::string name{};
        std::vector<std::int64_t> regions{};
        bool players = true;
        std::string owner{};  // empty: nobody
        std::int64_t term = 0;
        std::int64_t batch = 0;
        std::int64_t since_ms = 0;
    };

    std::string node{};  // the one that tells it
    std::vector<Node> nodes{};
    std::vector<Cell> cells{};
    std::optional<double> engine_ms{};  // how long the database took to answer; none: the store is a file
    std::string problem{};              // why the database did not answer last; empty: it did
};

// {"node","nodes":[…],"cells":[…],"engine_ms","problem"}
std::string cluster_json(const ClusterView& view);

// What an operator should know: nodes that were lost, and cells without an owner.
struct ClusterVerdict {
    std::vector<std::string> warnings{};
    std::vector<std::string> problems{};
};
ClusterVerdict verdict_of(const ClusterView& view);

// What became of the wish that another node owns a cell.
enum class MoveVerdict : std::uint8_t { begun, unknown_cell, unknown_node, lost_node, has_it_already };
struct MoveWish {
    std::string cell{};
    std::string node{};           // that is to own it
    std::string operator_name{};  // who wants it; empty: whoever is on this machine, without a token
    std::string address{};
};
using MoveCell = std::function<MoveVerdict(const MoveWish& wish)>;

// POST /api/v1/cells/{cell}/move at the owner: hands the cell over. The gate and what `move` uses outlive the routes.
void add_move_route(Routes& routes, AdminGate& gate, MoveCell move);

// GET /api/v1/cluster, also while the node stands by. The gate and what `view` uses outlive the routes.
void add_cluster_route(Routes& routes, AdminGate& gate, std::function<ClusterView()> view);
// Whether this path is that one.
bool is_cluster_path(std::string_view path);

}  // namespace muster

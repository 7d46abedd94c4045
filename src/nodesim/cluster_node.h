// A node: its machine, its place among the others, and its share of each cell.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "nodesim/engine.h"
#include "nodesim/engine_line.h"
#include "nodesim/lease_judge.h"
#include "nodesim/machine.h"
#include "nodesim/node_store.h"
#include "postgres/node_watch.h"

namespace muster::nodesim {

// One thread. All it is given outlives it.
class ClusterNode {
public:
    static constexpr std::chrono::seconds beat_every{1};

    struct Parts {
        sim::Agenda& agenda;
        Engine& engine;
        LeaseJudge& judge;
        const VirtualClock& clock;
        Sabotage sabotage = Sabotage::none;
    };
    ClusterNode(const Parts& parts, std::string name, Random random)
        : parts_(parts), machine_(parts.agenda, std::move(name), random), watch_(LeaseJudge::silence) {}

    // Before start(): each cell, and what is done with it when it is ours.
    NodeStore& add_cell(std::size_t cell, NodeStore::Work& work);

    Machine& machine() { return machine_; }
    const std::string& name() const { return machine_.name(); }
    NodeStore& store(std::size_t cell) { return *stores_[cell]; }
    std::size_t cells() const { return stores_.size(); }

    void start();
    // kill -9, or the power goes.
    void kill(bool power);
    // SIGTERM: hands all over, and ends after a while.
    void shut_down();
    // One cell goes to another node, and this one stands by.
    void hand_over(std::size_t cell);
    void reset_lines();

    // Who is to have the cell when we leave; empty when there is nobody.
    std::string successor(std::size_t cell) const { return next_owner(cell, name()); }
    // Who is to have it when that node has lost it; empty: when nobody had it.
    std::string next_owner(std::size_t cell, const std::string& before) const;

private:
    void beat();

    const Parts parts_;
    Machine machine_;
    std::vector<std::unique_ptr<NodeStore>> stores_;
    std::unique_ptr<EngineLine> member_;
    NodeWatch watch_;
    std::vector<NodeRow> rows_;
    std::vector<std::string> owners_;  // of each cell
    std::int64_t beats_ = 0;
    bool is_leaving_ = false;
};

}  // namespace muster::nodesim

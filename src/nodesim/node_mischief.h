// What goes wrong between nodes and their engine, when, and to whom.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/random.h"
#include "nodesim/cluster_node.h"
#include "nodesim/engine.h"
#include "sim/agenda.h"

namespace muster::nodesim {

// One thread. All it is given outlives it.
class NodeMischief {
public:
    struct Parts {
        sim::Agenda& agenda;
        Engine& engine;
        LeaseJudge& judge;
        std::vector<std::unique_ptr<ClusterNode>>& nodes;
    };
    NodeMischief(const Parts& parts, Random random) : parts_(parts), random_(random) {}

    // From now on, until calm_down().
    void begin();
    // All works again, and everybody is up.
    void calm_down();

private:
    void next();
    void stop_node();
    void kill_node();
    void end_node();
    void move_cell();
    void cut_node();
    void reset_lines();
    void fail_engine_over();
    void lose_standby();
    ClusterNode& any_node() { return *parts_.nodes[random_.below(parts_.nodes.size())]; }
    // Mostly: what happens to others is of less interest.
    ClusterNode& owner();
    Duration between(Duration least, Duration most) { return Duration(random_.between(least.count(), most.count())); }
    void later(Duration delay, std::function<void()> what);

    Parts parts_;
    Random random_;
    bool is_calm_ = false;
};

}  // namespace muster::nodesim

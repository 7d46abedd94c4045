#include "nodesim/cluster_node.h"

#include <utility>

namespace muster::nodesim {

using namespace std::chrono_literals;

NodeStore& ClusterNode::add_cell(std::size_t cell, NodeStore::Work& work) {
    stores_.push_back(std::make_unique<NodeStore>(
        NodeStore::Parts{parts_.engine, machine_, parts_.judge, parts_.clock, parts_.sabotage,
                         [this, cell](const std::string& owner) {
                             const std::string next = next_owner(cell, owner);
                             return next.empty() || next == name();
                         }},
        cell, work));
    return *stores_.back();
}

void ClusterNode::start() {
    if (machine_.is_up()) return;
    parts_.judge.note(name() + " starts");
    machine_.start();
    is_leaving_ = false;
    member_ = std::make_unique<EngineLine>(parts_.engine, machine_);
    watch_ = NodeWatch(LeaseJudge::silence);
    rows_.clear();
    owners_.clear();
    machine_.later(0ms, [this] { beat(); });
    for (const auto& store : stores_) store->stand_by();
}

void ClusterNode::kill(bool power) {
    if (!machine_.is_up()) return;
    parts_.judge.note(name() + (power ? " loses its power" : " is killed"));
    for (const auto& store : stores_) store->kill(power);
    if (power) member_->vanish();
    member_.reset();
    machine_.end();
}

void ClusterNode::shut_down() {
    if (!machine_.is_up() || is_leaving_) return;
    parts_.judge.note(name() + " is told to end");
    is_leaving_ = true;
    for (const auto& store : stores_) {
        if (store->owns())
            store->hand_over(successor(store->cell()), false);
        else
            store->kill(false);
    }
    machine_.later(3s, [this] { kill(false); });
}

void ClusterNode::hand_over(std::size_t cell) {
    const std::string next = successor(cell);
    if (next.empty() || !stores_[cell]->owns()) return;
    parts_.judge.note(name() + " hands over to " + next);
    stores_[cell]->hand_over(next, true);
}

void ClusterNode::reset_lines() {
    for (const auto& store : stores_) store->reset_lines();
    if (member_) member_->reset();
}

std::string ClusterNode::next_owner(std::size_t cell, const std::string& before) const {
    CellCounts counts;
    for (std::size_t i = 0; i < owners_.size(); ++i)
        if (i != cell) ++counts[owners_[i]];
    return successor_of(before, std::to_string(cell), rows_, watch_, counts);
}

void ClusterNode::beat() {
    const auto again = [this] { machine_.later(beat_every, [this] { beat(); }); };
    if (!member_->is_connected()) return member_->connect([this, again](bool done) { done ? beat() : again(); });
    Statement statement;
    statement.kind = Statement::Kind::beat;
    statement.row.name = name();
    statement.row.instance = machine_.instance();
    statement.row.beat = ++beats_;
    member_->ask(statement, [this, again, asked = machine_.now()](Reply reply) {
        if (reply.how == BatchReply::done) {
            watch_.seen(asked, reply.nodes);
            rows_ = std::move(reply.nodes);
            owners_ = std::move(reply.owners);
        }
        again();
    });
}

}  // namespace muster::nodesim

#include "cluster/node_cell.h"

#include <utility>

namespace muster {

NodeCell::NodeCell(const Clock& clock, Log& log, ClusterFigures& figures, const PgStoreOptions& options)
    : clock_(clock),
      log_(log),
      figures_(figures),
      name_(options.cell),
      node_(options.node),
      store_(clock, options),
      life_(node_, name_) {}

bool NodeCell::try_to_own(PgMember& member) {
    seen_ = store_.try_to_own([&](const std::string& owner) {
        const std::string next = member.next_owner(name_, owner);
        return next.empty() || next == node_;
    });
    const auto news = life_.looked(seen_);
    if (news) log_.info("{}", *news);
    if (!life_.owns()) return false;
    if (life_.took_over()) figures_.takeovers.fetch_add(1, std::memory_order_relaxed);
    is_owned_.store(true, std::memory_order_release);
    owned_since_ = clock_.now();
    member.refresh();
    return true;
}

std::optional<RelayTarget> NodeCell::owner(PgMember& member) {
    // While the database does not answer nobody takes over, either (N-9).
    if (!seen_.engine.empty()) return last_owner_;
    last_owner_.reset();
    if (seen_.ours || seen_.owner.empty() || seen_.owner == node_) return std::nullopt;
    const PgMemberView view = member.view();
    for (const NodeRow& node : view.nodes)
        if (node.name == seen_.owner && !node.node_address.empty())
            last_owner_ = RelayTarget{node.name, node.node_address, seen_.term};
    // Its row may be newer than our view.
    if (!last_owner_) member.refresh();
    return last_owner_;
}

bool NodeCell::choose_successor(const PgMember& member, const std::string& wanted) {
    const std::string successor = wanted.empty() ? member.successor(name_) : wanted;
    store_.set_successor(successor);
    if (successor.empty())
        log_.info("Hands cell {} over to whoever comes next: no other node is alive", name_);
    else
        log_.info("Hands cell {} over to {}", name_, successor);
    return !successor.empty();
}

void NodeCell::ask_to_move(const std::string& node) {
    const std::lock_guard lock(mutex_);
    move_to_ = node;
}

std::string NodeCell::next_owner(const PgMember& member) {
    {
        const std::lock_guard lock(mutex_);
        if (!move_to_.empty()) return std::exchange(move_to_, {});
    }
    if (!may_hand_back(clock_.now() - owned_since_)) return {};
    return member.preferred(name_);
}

std::optional<RelayTarget> owner_by_rows(PgMember& member, const std::string& cell, const std::string& node) {
    member.refresh();
    const PgMemberView view = member.view();
    for (const CellState& state : view.cells)
        for (const NodeRow& row : view.nodes)
            if (state.name == cell && state.owner == row.name && row.name != node && !row.node_address.empty())
                return RelayTarget{row.name, row.node_address, state.term};
    return std::nullopt;
}

}  // namespace muster

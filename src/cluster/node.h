// This node: the store that its config names, and, when several nodes share that store, its place among them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/time.h"
#include "cluster/node_cell.h"
#include "cluster/node_life.h"
#include "cluster/rule_books.h"
#include "config/config.h"
#include "core/cell_plan.h"
#include "http/cluster_view.h"
#include "http/metrics_text.h"
#include "net/socket_address.h"
#include "postgres/pg_member.h"
#include "postgres/pg_news.h"
#include "postgres/pg_store.h"
#include "relay/owner_link.h"
#include "store/history_limits.h"
#include "store/sqlite_store.h"
#include "store/store.h"

namespace muster {

// One thread, unless a line says otherwise. What it is given outlives it, but for the config.
class Node {
public:
    // How often a node that stands by looks at the cell.
    static constexpr Duration look_every = PgStore::look_every;

    // Opens the store. Throws StoreError.
    Node(const Config& config, const Clock& clock, Log& log, ClusterFigures& cluster_figures);

    // Of the only cell. With several cells each has its own.
    Store& store() { return *store_; }
    const Store& store() const { return *store_; }
    // For people: the file, or the database's address.
    const std::string& store_name() const { return store_name_; }
    const std::string& name() const { return name_; }
    // The only cell.
    const std::string& cell() const { return plans_.front().name; }
    const CellPlans& plans() const { return plans_; }

    // Whether the store is shared: then the cell must be owned before the store is recovered.
    bool is_member() const { return is_member_; }
    // Joins the others; `address` is where our HTTP port is reached, unless the config says otherwise. `on_name_lost`
    // is called on a thread of its own when another node got our name. Throws StoreError 78 when one has it already.
    // The node port is where other nodes reach us, at the host that the config advertises. The books, which outlive
    // the node, are told of the operators and blocks of the cluster before this returns, and when some have changed.
    void join(const std::string& address, const SocketAddress& node_port, std::function<void()> on_name_lost,
              RuleBooks& books);
    // Once it has joined. Any thread.
    PgMember& member() const { return *member_; }
    // This node as the owner of a cell. Its own peers' link to it stays on this machine: what others reach it by may be
    // known to them only.
    RelayTarget own_target(std::int64_t term) const { return {name_, node_address_, term, near_address_}; }

    // One of several cells, for one life. Throws StoreError. Any thread.
    std::unique_ptr<NodeCell> open_cell(const std::string& cell_name) const;
    // What other cells have for one that this node owns. Before the game ends.
    std::unique_ptr<PgNews> open_news(const CellPlan& plan, PgNews::OnNews on_news) const;

    // Of the only cell, as NodeCell has them.
    bool try_to_own() { return shared_->try_to_own(*member_); }
    const std::string& standing() const { return shared_->standing(); }
    std::optional<RelayTarget> owner() { return shared_->owner(*member_); }
    std::optional<RelayTarget> owner_by_rows() const { return muster::owner_by_rows(*member_, cell(), name_); }
    std::int64_t term() const { return shared_->term(); }
    bool choose_successor(const std::string& wanted = {}) {
        return shared_ && member_ && shared_->choose_successor(*member_, wanted);
    }
    std::string next_owner() { return member_ ? shared_->next_owner(*member_) : std::string(); }

    // Any thread: an operator wants another node to own the cell.
    MoveVerdict ask_to_move(const std::string& cell_name, const std::string& node);
    // Any thread: whether that node could own a cell of ours.
    MoveVerdict judge_move(const std::string& node) const;

    // Any thread: other nodes whose peers may come over them.
    std::size_t others_alive() const;

    // Any thread.
    ClusterView view() const;
    std::vector<Metric> metrics() const;

private:
    void open_shared(const Config& config);

    const Clock& clock_;
    Log& log_;
    ClusterFigures& cluster_figures_;
    const Config::Cluster cluster_;
    const std::string name_;
    const CellPlans plans_;
    const std::vector<std::int64_t> regions_;
    const UnixMs started_;
    const std::string instance_;
    const bool is_member_;
    std::string store_name_;
    std::string address_;  // written once, before others read it, as are the next
    std::string node_address_;
    std::string near_address_;
    PgOptions connection_;
    PgStoreOptions shared_options_;     // of a cell, but for its name
    std::unique_ptr<SqliteStore> own_;  // a store that nobody shares
    std::unique_ptr<NodeCell> shared_;  // the only cell of one that several nodes share
    Store* store_ = nullptr;            // either
    std::unique_ptr<PgMember> member_;
};

// `muster_cell_owned` of one cell.
Metric owned_metric(const std::string& cell, bool is_owned);

HistoryLimits history_limits_of(const Config& config);

}  // namespace muster

// This node: the store that its config names, and, when several nodes share that store, its place among them (N-1).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/time.h"
#include "config/config.h"
#include "daemon/node_life.h"
#include "http/cluster_view.h"
#include "http/metrics_text.h"
#include "net/socket_address.h"
#include "postgres/pg_member.h"
#include "postgres/pg_store.h"
#include "relay/relay_thread.h"
#include "store/history_limits.h"
#include "store/store.h"

namespace muster {

// One thread, unless a line says otherwise. What it is given outlives it, but for the config.
class Node {
public:
    // How often a node that stands by looks at the cell.
    static constexpr Duration look_every = PgStore::look_every;

    // Opens the store. Throws StoreError.
    Node(const Config& config, const Clock& clock, Log& log, ClusterFigures& cluster_figures);

    Store& store() { return *store_; }
    const Store& store() const { return *store_; }
    // For people: the file, or the database's address.
    const std::string& store_name() const { return store_name_; }
    const std::string& name() const { return name_; }
    // What it owns or stands by for: all state is one cell for now.
    const std::string& cell() const { return cell_; }

    // Whether the store is shared: then the cell must be owned before the store is recovered.
    bool is_member() const { return shared_ != nullptr; }
    // Joins the others; `address` is where our HTTP port is reached, unless the config says otherwise. `on_name_lost`
    // is called on a thread of its own when another node got our name. Throws StoreError 78 when one has it already.
    // The node port is where other nodes reach us, at the host that the config advertises.
    void join(const std::string& address, const SocketAddress& node_port, std::function<void()> on_name_lost);
    // One look at the cell. True once it is ours.
    bool try_to_own();
    // "standing by; owner is two"
    const std::string& standing() const { return life_.standing(); }

    // Who owns the cell and where, as far as that look and the others' rows tell; nothing: nobody that could be
    // reached.
    std::optional<RelayTarget> owner();
    // The same by the rows alone, for one that has just handed over.
    std::optional<RelayTarget> owner_by_rows() const;
    // Of the cell; ours once we own it.
    std::int64_t term() const { return term_; }

    // Before the store stops: it goes to `wanted`, or else to a node that is alive. False when there is none.
    bool choose_successor(const std::string& wanted = {});

    // Any thread: an operator wants another node to own the cell.
    MoveVerdict ask_to_move(const std::string& cell_name, const std::string& node);
    // Who is to have the cell now: whom an operator named, or a node that prefers it and is back (N-12). Empty: nobody.
    std::string next_owner();

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
    const std::string cell_;
    const std::vector<std::int64_t> regions_;
    const UnixMs started_;
    const std::string instance_;
    NodeLife life_;
    CellOwnership seen_;
    std::optional<RelayTarget> last_owner_;
    std::int64_t term_ = 0;
    std::atomic<bool> owns_{false};
    Time owned_since_{};
    std::mutex move_mutex_;
    std::string move_to_;  // guarded by move_mutex_
    std::string store_name_;
    std::string address_;  // written once, before others read it
    PgOptions connection_;
    std::unique_ptr<Store> store_;
    PgStore* shared_ = nullptr;  // the store, when it is one that several share
    std::unique_ptr<PgMember> member_;
};

HistoryLimits history_limits_of(const Config& config);

}  // namespace muster

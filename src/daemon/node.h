// This node: the store that its config names, and, when several nodes share that store, its place among them (N-1).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/time.h"
#include "config/config.h"
#include "daemon/node_life.h"
#include "http/cluster_view.h"
#include "http/metrics_text.h"
#include "postgres/pg_member.h"
#include "postgres/pg_store.h"
#include "store/history_limits.h"
#include "store/store.h"

namespace muster {

// One thread, unless a line says otherwise. What it is given outlives it, but for the config.
class Node {
public:
    // All state is one cell for now.
    static constexpr const char* cell = "main";
    // How often a node that stands by looks at the cell.
    static constexpr Duration look_every = PgStore::look_every;

    // Opens the store. Throws StoreError.
    Node(const Config& config, const Clock& clock, Log& log, ClusterTotals& totals);

    Store& store() { return *store_; }
    const Store& store() const { return *store_; }
    // For people: the file, or the database's address.
    const std::string& store_name() const { return store_name_; }
    const std::string& name() const { return name_; }

    // Whether the store is shared: then the cell must be owned before the store is recovered.
    bool is_member() const { return shared_ != nullptr; }
    // Joins the others; `address` is where our HTTP port is reached, unless the config says otherwise. `on_name_lost`
    // is called on a thread of its own when another node got our name. Throws StoreError 78 when one has it already.
    void join(const std::string& address, std::function<void()> on_name_lost);
    // One look at the cell. True once it is ours.
    bool try_to_own();
    // "standing by; owner is two"
    const std::string& standing() const { return life_.standing(); }

    // Before the store stops: it goes to a node that is alive, if there is one.
    void choose_successor();

    // Any thread.
    ClusterView view() const;
    std::vector<Metric> metrics() const;

private:
    void open_shared(const Config& config);

    const Clock& clock_;
    Log& log_;
    ClusterTotals& totals_;
    const Config::Cluster cluster_;
    const std::string name_;
    const std::vector<std::int64_t> regions_;
    const UnixMs started_;
    const std::string instance_;
    NodeLife life_;
    std::atomic<bool> owns_{false};
    std::string store_name_;
    std::string address_;  // written once, before others read it
    PgOptions connection_;
    std::unique_ptr<Store> store_;
    PgStore* shared_ = nullptr;  // the store, when it is one that several share
    std::unique_ptr<PgMember> member_;
};

HistoryLimits history_limits_of(const Config& config);

}  // namespace muster

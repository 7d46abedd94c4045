// One cell at this node, for one life: it stands by for the cell, owns it, and gives it away (N-2, N-3, N-12).
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "base/log.h"
#include "base/time.h"
#include "cluster/node_life.h"
#include "postgres/pg_member.h"
#include "postgres/pg_store.h"
#include "relay/owner_link.h"

namespace muster {

// One thread, unless a line says otherwise. What it is given outlives it. The member is this node's.
class NodeCell {
public:
    // Opens the cell's store. Throws StoreError.
    NodeCell(const Clock& clock, Log& log, ClusterFigures& figures, const PgStoreOptions& options);

    const std::string& name() const { return name_; }
    PgStore& store() { return store_; }

    // One look at the cell. True once it is ours.
    bool try_to_own(PgMember& member);
    // "standing by; owner is two"
    const std::string& standing() const { return life_.standing(); }
    // Of the cell; ours once we own it.
    std::int64_t term() const { return seen_.term; }
    // Any thread.
    bool is_owned() const { return is_owned_.load(std::memory_order_acquire); }

    // Who else owns the cell and where, as far as that look and the others' rows tell; nothing: nobody that could be
    // reached.
    std::optional<RelayTarget> owner(PgMember& member);

    // Before the store stops: it goes to `wanted`, or else to a node that is alive. False when there is none.
    bool choose_successor(const PgMember& member, const std::string& wanted = {});

    // Any thread: an operator wants that node to own the cell.
    void ask_to_move(const std::string& node);
    // Who is to have the cell now: whom an operator named, or a node that prefers it and is back. Empty: nobody.
    std::string next_owner(const PgMember& member);

private:
    const Clock& clock_;
    Log& log_;
    ClusterFigures& figures_;
    const std::string name_;
    const std::string node_;
    PgStore store_;
    NodeLife life_;
    CellOwnership seen_;
    std::optional<RelayTarget> last_owner_;
    std::atomic<bool> is_owned_{false};
    Time owned_since_{};
    std::mutex mutex_;
    std::string move_to_;  // guarded by mutex_
};

// Who owns the cell by the rows alone, for a node that has just handed it over.
std::optional<RelayTarget> owner_by_rows(PgMember& member, const std::string& cell, const std::string& node);

}  // namespace muster

// What the engine of a cluster holds: the cells' rows and records, and the nodes' rows. Changes are values, so that a
// standby can follow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/time.h"
#include "core/records.h"
#include "postgres/cell_watch.h"
#include "postgres/node_watch.h"
#include "store/history_limits.h"
#include "store/kept_past.h"
#include "store/latest_state.h"

namespace muster::nodesim {

// A connection as the engine sees it: its pid and its start in one.
using SessionId = std::uint64_t;

// The batches of one transaction.
using BatchGroup = std::shared_ptr<const std::vector<RecordBatch>>;

// The row of a cell.
struct CellLine {
    CellMark mark{};
    std::string owner{};       // empty: nobody
    std::string instance{};    // the owner's process
    std::string handed_to{};   // without an owner: who is to take it
    SessionId session = 0;     // the owner's connection
    std::int64_t settled = 0;  // grows with each write that settles
    UnixMs written_at{};       // by the owner's own clock; nobody but saboteurs looks at it
};

struct Change {
    enum class Kind : std::uint8_t { take, renew, batch, keep, settle, node };

    Kind kind = Kind::settle;
    std::size_t cell = 0;
    std::string node{};
    std::string instance{};
    std::string handed_to{};
    SessionId session = 0;
    CellMark mark{};  // of a batch: its term and its number
    bool hands_over = false;
    BatchGroup group{};
    UnixMs wall{};
    NodeRow row{};
};

// A value.
class Database {
public:
    explicit Database(std::size_t cells) : cells_(cells) {}

    CellLine& line(std::size_t cell) { return cells_[cell].line; }
    const CellLine& line(std::size_t cell) const { return cells_[cell].line; }
    const std::map<std::string, NodeRow>& nodes() const { return nodes_; }
    RecoveredState recovered(std::size_t cell, UnixMs now) const {
        return cells_[cell].state.recovered(kept_of(HistoryLimits{}, now));
    }

    void apply(const Change& change);

private:
    struct Cell {
        CellLine line{};
        LatestState state{};
    };
    std::vector<Cell> cells_;
    std::map<std::string, NodeRow> nodes_;
};

}  // namespace muster::nodesim

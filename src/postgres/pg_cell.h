// One cell's row in the engine: who owns it, in which term, and the fence that every batch passes (N-2, N-3, N-5).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "postgres/cell_watch.h"
#include "postgres/pg_connection.h"

namespace muster {

struct CellRow {
    CellMark mark{};
    std::string owner{};      // empty: nobody
    std::string instance{};   // the owner's process
    std::string handed_to{};  // without an owner: who is to take it
};

// What is shown of a cell while its owner recovers.
struct CellKept {
    std::string name{};
    std::int64_t term = 0;
    std::int64_t settled = 0;  // as it was when the term began: once the owner has caught up, nothing more is shown
};

// One thread. Throws PgError.
class PgCell {
public:
    // `instance` is our process, see process/process_identity.h.
    PgCell(std::string name, std::string node, std::string instance)
        : name_(std::move(name)), node_(std::move(node)), instance_(std::move(instance)) {}

    const std::string& name() const { return name_; }
    CellMark mark() const { return mark_; }

    // The row as it is.
    CellRow look(PgConnection& connection) const;

    // Takes the cell, only if its mark is still `seen`; the next term begins. False when it is not, or when a
    // transaction of the owner holds the row: that one's connection is ended, and the next try finds the row free.
    [[nodiscard]] bool take(PgConnection& connection, CellMark seen);

    // A new connection of the owner: prepares the fence, and says in the row whose it is. False when the row is not
    // ours.
    [[nodiscard]] bool renew(PgConnection& connection);

    // The first statements of a batch's transaction, in a pipeline: BEGIN and the fence, which fails it unless the term
    // stands, the batch is the next one, and nothing was settled since it was sent. So what arrives late, on a
    // connection that we have given up, changes nothing.
    void send_begin(PgConnection& connection) const;
    // The last statement.
    static void send_commit(PgConnection& connection) { connection.send("commit"); }
    // It has become durable.
    void committed() { ++mark_.batch; }
    // Hands the cell over with this transaction: the successor waits for nothing. Empty: whoever comes first.
    void send_hand_over(PgConnection& connection, const std::string& successor) const;

    CellKept kept() const { return {name_, mark_.term, settled_}; }
    // Shows that the owner is there while it recovers, on a connection of its own. False when the term is over, or the
    // owner has caught up: one that comes late would be taken for a batch of another.
    [[nodiscard]] static bool keep(PgConnection& connection, const CellKept& kept);
    // What the number of the last batch is after that, settled by a write. False when the term is over.
    [[nodiscard]] bool catch_up(PgConnection& connection);

    // The number of the cell's last batch, by a write, never by a read (N-5): it waits for a transaction of ours that
    // is still under way, and the fence refuses one that comes later. Nothing when the term is over.
    std::optional<std::int64_t> settle(PgConnection& connection);

    // After a row or a fence refused us: whether that shows that the cell is another's.
    bool is_lost(PgConnection& connection) const;
    // Whether this refusal is the fence's.
    static bool is_fence(const PgError& error) { return error.sqlstate == "22012"; }

private:
    std::string name_;
    std::string node_;
    std::string instance_;
    CellMark mark_{};
    std::int64_t settled_ = 0;  // when the term began, then as of the last settle()
};

}  // namespace muster

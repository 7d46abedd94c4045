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
    std::string owner{};
};

// One thread. Throws PgError.
class PgCell {
public:
    PgCell(std::string name, std::string node) : name_(std::move(name)), node_(std::move(node)) {}

    const std::string& name() const { return name_; }
    CellMark mark() const { return mark_; }

    // The row as it is; makes it when there is none.
    CellRow look(PgConnection& connection) const;

    // Takes the cell, only if its mark is still `seen`; the next term begins. False when it is not, or when a
    // transaction of the owner holds the row: that one's connection is ended, and the next try finds the row free.
    [[nodiscard]] bool take(PgConnection& connection, CellMark seen);

    // A new connection of the owner: prepares the fence, and says in the row whose it is. False when the term is over.
    [[nodiscard]] bool renew(PgConnection& connection);

    // The first statement of a batch's transaction, in a pipeline: fails it unless the term stands and the batch is the
    // next one.
    void send_fence(PgConnection& connection) const;
    // It has become durable.
    void committed() { ++mark_.batch; }
    // Hands the cell back with this transaction: the next owner waits for nothing.
    void send_hand_back(PgConnection& connection) const;

    enum class Outcome : std::uint8_t { applied, not_applied, over };
    // Of a batch whose commit was not answered: settled by a write, never by a read (N-5). `over`: another owner.
    Outcome settle(PgConnection& connection) const;

    // Whether this refusal is the fence's.
    static bool is_fence(const PgError& error) { return error.sqlstate == "22012"; }

private:
    std::string name_;
    std::string node_;
    CellMark mark_{};
};

}  // namespace muster

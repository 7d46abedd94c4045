#include "nodesim/database.h"

namespace muster::nodesim {

void Database::apply(const Change& change) {
    if (change.kind == Change::Kind::node) {
        nodes_[change.row.name] = change.row;
        return;
    }
    Cell& cell = cells_[change.cell];
    switch (change.kind) {
        case Change::Kind::take:
            ++cell.line.mark.term;
            cell.line.owner = change.node;
            cell.line.instance = change.instance;
            cell.line.handed_to.clear();
            cell.line.session = change.session;
            cell.line.written_at = change.wall;
            break;
        case Change::Kind::renew:
            cell.line.session = change.session;
            break;
        case Change::Kind::batch:
            cell.line.mark.batch = change.mark.batch;
            cell.line.written_at = change.wall;
            if (change.group)
                for (const RecordBatch& batch : *change.group) cell.state.apply(batch, change.wall);
            if (change.hands_over) {
                cell.line.owner.clear();
                cell.line.handed_to = change.handed_to;
            }
            break;
        case Change::Kind::keep:
            ++cell.line.mark.batch;
            cell.line.written_at = change.wall;
            break;
        case Change::Kind::settle:
            ++cell.line.settled;
            break;
        case Change::Kind::node:
            break;
    }
}

}  // namespace muster::nodesim

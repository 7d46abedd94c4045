// Appends events to the store's table of blocks: one row for many events, and no index on the way in.
#pragma once

#include <cstdint>
#include <vector>

#include "core/records.h"
#include "store/database.h"
#include "store/event_block.h"

namespace muster {

// One thread. The database outlives it; its calls fail with SqliteError.
//
// A commit's events go into a row of their own. While the latest row is small, the next commit's events are put into it
// as well: a page is written whole anyway, and a thousand quiet commits leave thirty rows, not a thousand.
class EventWriter {
public:
    // A row is full from so many bytes on: it fills one page of the file.
    static constexpr std::size_t small_row_bytes = 3'500;
    // A commit with more than this makes several rows, so that a reader never decodes much for one event.
    static constexpr std::size_t row_bytes_max = 64 * 1024;

    explicit EventWriter(Database& database);

    // Inside a transaction of the caller. An id that is not greater than the last one is skipped.
    void add(const EventRecord& event);
    // Inside the transaction, after its last event.
    void flush();
    // The transaction is durable, or is undone.
    void committed();
    void rolled_back();
    // Rows were changed by somebody else: the next event begins a new one.
    void begin_row();

private:
    void put_row();

    Statement put_;
    EventBlock row_;
    bool has_new_ = false;  // the row has events that are not written
    std::int64_t last_id_ = 0;
    std::int64_t durable_last_id_ = 0;
};

}  // namespace muster

// The owner of one cell of a store with several, for tests on a real PostgreSQL.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "base/time.h"
#include "core/cell_plan.h"
#include "core/records.h"
#include "postgres/pg_store.h"
#include "store/outcome_log.h"

namespace muster {

struct CellOwner {
    CellOwner(const Clock& clock, const std::string& url, const CellPlans& cells, const std::string& cell) {
        PgStoreOptions options;
        options.connection.url = url;
        options.cells = cells;
        options.cell = cell;
        options.node = "node-of-" + cell;
        store = std::make_unique<PgStore>(clock, options);
        REQUIRE(store->try_to_own().ours);
        recovered = store->recover();
        outcomes.start(*store);
    }

    void submit(std::vector<Record> records) { REQUIRE(store->submit({++number, std::move(records), 0})); }
    // The records that were left out of a batch that was kept.
    std::vector<std::size_t> write(std::vector<Record> records) {
        submit(std::move(records));
        REQUIRE(outcomes.wait_for(number));
        REQUIRE(outcomes.last().fault == StoreFault::none);
        return outcomes.last().anothers;
    }

    RecoveredState recovered;
    OutcomeLog outcomes;
    std::unique_ptr<PgStore> store;
    std::uint64_t number = 0;
};

}  // namespace muster

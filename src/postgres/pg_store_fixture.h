// For tests: a node's store on a real PostgreSQL. Each case has an engine of its own and covers what it can with it:
// making one takes seconds.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "postgres/pg_store.h"
#include "postgres/test_engine.h"
#include "store/outcome_log.h"
#include "store/store_fault.h"

#define NEEDS_ENGINE()                                             \
    if (!TestEngine::is_installed()) {                             \
        MESSAGE("PostgreSQL is not installed: nothing was tried"); \
        return;                                                    \
    }

namespace muster {

inline PgStoreOptions options_for(const std::string& url, const std::string& node) {
    PgStoreOptions options;
    options.connection.url = url;
    options.node = node;
    return options;
}

// A store that owns its cell, with what it answered.
struct TestNode {
    TestNode(const Clock& clock, const std::string& url, const std::string& name, Duration lease = 1s) {
        PgStoreOptions options = options_for(url, name);
        options.lease = lease;
        store = std::make_unique<PgStore>(clock, options);
    }
    TestNode(const Clock& clock, const PgStoreOptions& options) : store(std::make_unique<PgStore>(clock, options)) {}

    bool own() { return store->try_to_own().ours; }
    RecoveredState begin() {
        RecoveredState state = store->recover();
        outcomes.start(*store);
        return state;
    }
    StoreFault write(std::vector<Record> records) {
        const std::size_t before = outcomes.all().size();
        if (!store->submit({++number, std::move(records), 0})) return StoreFault::transient;
        if (!outcomes.wait_for(before + 1)) return StoreFault::transient;
        return outcomes.last().fault;
    }

    OutcomeLog outcomes;
    std::unique_ptr<PgStore> store;
    std::uint64_t number = 0;
};

inline int exit_of(const auto& call) {
    try {
        call();
        return 0;
    } catch (const StoreError& error) {
        return error.exit_code;
    }
}

}  // namespace muster

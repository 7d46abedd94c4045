// What the API shows of a cell's past: from before this term, and from then on as it becomes durable.
#pragma once

#include <algorithm>
#include <limits>
#include <variant>

#include "base/time.h"
#include "cluster/rule_books.h"
#include "core/records.h"
#include "http/event_ring.h"
#include "http/over_matches.h"
#include "store/store.h"

namespace muster {

// Any thread, but for begin().
struct CellPast {
    // Before the store starts. The books know the recovered state already. What it is given outlives it.
    void begin(Store& store, const RecoveredState& recovered, RuleBooks& books, const Clock& clock) {
        auto newest = store.events_before(std::numeric_limits<std::int64_t>::max(), EventRing::capacity_usual);
        std::reverse(newest.begin(), newest.end());
        events.preload(newest, newest.size() < EventRing::capacity_usual);
        const PastMatches past = store.latest_over(OverMatches::capacity);
        for (const PastMatches::Use& use : past.uses) over.note(use.used, use.at);
        for (const MatchRecord& match : past.matches) over.note(match);
        for (const TokenUsed& used : recovered.tokens_used) over.note(used);
        store.on_durable([this, &books, &clock](const RecordBatch& batch) {
            const UnixMs now = clock.wall();
            for (const Record& record : batch.records) {
                if (const auto* event = std::get_if<EventRecord>(&record))
                    events.append(*event);
                else
                    over.note(record, now);
                books.operators.note(record);
                books.blocks.note(record);
            }
        });
    }

    EventRing events;
    OverMatches over;
};

}  // namespace muster

// Judges the history: an event is written once, and stays while it is not old, whatever the date says meanwhile.
// Faults 5 and 18.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "sim/judge.h"

namespace muster::sim {

// No simulation lasts for as long as events are kept, so none may go.
class HistoryJudge final : public Judge {
public:
    explicit HistoryJudge(Objections& objections) : objections_(objections) {}

    void durable(Time now, const RecordBatch& batch) {
        for (const Record& record : batch.records) {
            const auto* event = std::get_if<EventRecord>(&record);
            if (event && !written_.insert(event->id).second) object(now, "fault 5", "an event is written twice");
        }
    }
    void pruned(Time now, const std::map<std::int64_t, EventRecord>& events) {
        if (events.size() != written_.size()) object(now, "fault 18", "an event is erased before its time");
    }

private:
    void object(Time now, std::string rule, std::string what) {
        objections_.add({std::move(rule), std::move(what), {}, {}, now});
    }

    Objections& objections_;
    std::set<std::int64_t> written_;
};

}  // namespace muster::sim

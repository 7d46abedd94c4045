// Judges the history: an event is written once, and stays while it is not old, whatever the date says meanwhile.
// Faults 5 and 18.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sim/judge.h"

namespace muster::sim {

// No simulation lasts for as long as events are kept, so none may go.
class HistoryJudge final : public Judge {
public:
    explicit HistoryJudge(Objections& objections) : objections_(objections) {}

    void durable(Time now, const RecordBatch& batch) {
        for (const Record& record : batch.records) {
            const auto* event = std::get_if<EventRecord>(&record);
            if (event && !write(event->id)) object(now, "fault 5", "an event is written twice");
        }
    }
    void pruned(Time now, const std::map<std::int64_t, EventRecord>& events) {
        if (events.size() != written_.size()) object(now, "fault 18", "an event is erased before its time");
    }

private:
    // False when it was written before. Ids grow, as good as always.
    bool write(std::int64_t id) {
        if (written_.empty() || written_.back() < id) {
            written_.push_back(id);
            return true;
        }
        const auto place = std::lower_bound(written_.begin(), written_.end(), id);
        if (*place == id) return false;
        written_.insert(place, id);
        return true;
    }
    void object(Time now, std::string rule, std::string what) {
        objections_.add({std::move(rule), std::move(what), {}, {}, now});
    }

    Objections& objections_;
    std::vector<std::int64_t> written_;  // ascending
};

}  // namespace muster::sim

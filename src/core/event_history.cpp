#include "core/event_history.h"

#include <string>
#include <utility>

#include "core/events.h"
#include "protocol/error_texts.h"

namespace muster {

EventHistory::EventHistory(Events& events, Ledger& ledger, IdBlocks& ids, IssuedTime& issued)
    : ledger_(ledger), ids_(ids), issued_(issued) {
    events.subscribe_all([this](const EventView& event) { note(event); });
}

void EventHistory::note(const EventView& event) {
    const auto* deleted = event.as<event::EntityDeleted>();
    if (deleted && deleted->reason != text(Reason::heartbeat_failed)) return;
    const auto* refused = event.as<event::MatchRefused>();
    if (refused && refused->label == label(Refusal::server_busy)) {
        if (event.time() < busy_next_) return;
        busy_next_ = event.time() + std::chrono::seconds(1);
    }
    if (waiting_.size() >= waiting_max) return;  // the store has been down for a million events, or from the start on
    fields_.clear();
    event.describe(fields_);
    EventRecord record{0, issued_.at(event.time()), std::string(event.name()), fields_.finish()};
    if (waiting_.empty() && write(record)) return;
    waiting_.push_back(std::move(record));
}

// False, and the record untouched, when there is no number for it.
bool EventHistory::write(EventRecord& record) {
    const auto id = ids_.event_id();
    if (!id) return false;
    record.id = *id;
    ledger_.write(std::move(record));
    return true;
}

void EventHistory::write_waiting() {
    while (!waiting_.empty() && write(waiting_.front())) waiting_.pop_front();
}

}  // namespace muster

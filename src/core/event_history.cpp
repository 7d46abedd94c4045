#include "core/event_history.h"

#include <string>

#include "base/json_fields.h"
#include "core/events.h"
#include "protocol/error_texts.h"

namespace muster {

EventHistory::EventHistory(Events& events, Ledger& ledger, IdBlocks& numbers, IssuedTime& issued)
    : ledger_(ledger), numbers_(numbers), issued_(issued) {
    events.subscribe_all([this](const EventView& event) { note(event); });
}

void EventHistory::note(const EventView& event) {
    const auto* deleted = event.as<event::EntityDeleted>();
    if (deleted && deleted->reason != text(Reason::heartbeat_failed)) return;
    const auto id = numbers_.event_id();
    if (!id) return;  // the store has been down for a million events
    JsonFields fields;
    event.describe(fields);
    ledger_.write(EventRecord{*id, issued_.at(event.time()), std::string(event.name()), fields.finish()});
}

}  // namespace muster

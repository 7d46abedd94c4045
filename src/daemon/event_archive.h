// The store's history for the API.
#pragma once

#include "http/event_query.h"
#include "store/store.h"

namespace muster {

// As the store allows. The store outlives it.
class StoreArchive final : public EventArchive {
public:
    explicit StoreArchive(Store& store) : store_(store) {}
    EventsFound find(const EventSearch& search) override { return store_.find_events(search); }

private:
    Store& store_;
};

}  // namespace muster

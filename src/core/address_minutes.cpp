#include "core/address_minutes.h"

namespace muster {

AddressMinutes::Counts AddressMinutes::add(Time now, const IpAddress& from) {
    forget_old(now);
    const IpAddress network = from.network();
    OfAddress& address = by_address_[network];
    if (address.counts.now == 0 || now - address.since >= window) {
        address = {now, {0, address.counts.now}};
        oldest_first_.emplace_back(now, network);
    }
    ++address.counts.now;
    return address.counts;
}

// An address that began another minute since then is still in its place further back.
void AddressMinutes::forget_old(Time now) {
    while (!oldest_first_.empty()) {
        const auto& [began, from] = oldest_first_.front();
        if (now - began < 2 * window && oldest_first_.size() < addresses_max) return;
        const auto address = by_address_.find(from);
        if (address != by_address_.end() && address->second.since == began) by_address_.erase(address);
        oldest_first_.pop_front();
    }
}

}  // namespace muster

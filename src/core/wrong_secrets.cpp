#include "core/wrong_secrets.h"

#include <string_view>

#include "base/planted.h"

namespace muster {
namespace {

std::string_view secret_of(Port port) {
    switch (port) {
        case Port::servers:
            return "server token";
        case Port::matchmakers:
            return "matchmaker token";
        case Port::players:
            return "player credential";
    }
    return "";
}

}  // namespace

void WrongSecrets::refuse_with(const Pass& pass, Link& link, std::vector<std::byte> frame) {
    if (planted(Bug::wrong_secrets_unnoticed)) return links_.close_with(link, frame);
    ++counts_[static_cast<std::size_t>(link.port)];
    const OfAddress& from = note(pass.running, link.peer.network());
    if (from.count == 1) {
        log_.with(LogLevel::warning,
                  {{"port", to_string(link.port)},
                   {"peer", link.peer.to_string()},
                   {"wrong_in_the_minute_before", from.before}},
                  "Wrong {} from {}", secret_of(link.port), link.peer.to_string());
    }
    if (from.count < per_minute_) return links_.close_with(link, frame);

    links_.hold(link);
    timers_.start({.first_delay = hold_back},
                  [this, id = link.id, held = std::move(frame)](const TimerFired&) { links_.close_held(id, held); });
}

// Counts one more. The minute of an address begins with its first wrong secret.
WrongSecrets::OfAddress& WrongSecrets::note(Time now, const IpAddress& from) {
    forget_old(now);
    OfAddress& address = by_address_[from];
    if (address.count == 0 || now - address.since >= window) {
        address = {now, 0, address.count};
        oldest_first_.emplace_back(now, from);
    }
    ++address.count;
    return address;
}

// An address that began another minute since then is still in its place further back.
void WrongSecrets::forget_old(Time now) {
    while (!oldest_first_.empty()) {
        const auto& [began, from] = oldest_first_.front();
        if (now - began < 2 * window && oldest_first_.size() < addresses_max) return;
        const auto address = by_address_.find(from);
        if (address != by_address_.end() && address->second.since == began) by_address_.erase(address);
        oldest_first_.pop_front();
    }
}

}  // namespace muster

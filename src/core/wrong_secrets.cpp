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
    const AddressMinutes::Counts from = minutes_.add(pass.running, link.peer);
    if (from.now == 1) {
        log_.with(LogLevel::warning,
                  {{"port", to_string(link.port)},
                   {"peer", link.peer.to_string()},
                   {"wrong_in_the_minute_before", from.before}},
                  "Wrong {} from {}", secret_of(link.port), link.peer.to_string());
    }
    if (from.now < per_minute_) return links_.close_with(link, frame);

    links_.hold(link);
    timers_.start({.first_delay = hold_back},
                  [this, id = link.id, held = std::move(frame)](const TimerFired&) { links_.close_held(id, held); });
}

}  // namespace muster

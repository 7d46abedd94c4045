#include "core/refused_registrations.h"

#include <algorithm>
#include <utility>

#include "core/events.h"

namespace muster {

// So that a metric is there before its first increase.
RefusedRegistrations::Counts RefusedRegistrations::may_be() {
    Counts counts;
    for (const Refusal why :
         {Refusal::invalid_token, Refusal::invalid_ip_address, Refusal::invalid_port, Refusal::invalid_region,
          Refusal::invalid_capacity, Refusal::address_not_allowed, Refusal::endpoint_of_other_name,
          Refusal::server_already_registered, Refusal::store_unavailable})
        counts[{Port::servers, why}] = 0;
    for (const Refusal why : {Refusal::invalid_token, Refusal::invalid_matchmaker_id, Refusal::invalid_region,
                              Refusal::matchmaker_already_registered})
        counts[{Port::matchmakers, why}] = 0;
    return counts;
}

void RefusedRegistrations::note(Time now, const Attempt& attempt) {
    if (now - since_ >= window) begin_window(now);
    const Kind kind{attempt.port, attempt.why};
    ++totals_[kind];
    ++now_[kind];
    last_[attempt.port] = attempt.peer;

    const Source source{attempt.peer.network(), kind};
    auto found = sources_.find(source);
    if (found == sources_.end()) {
        if (sources_.size() >= sources_max) return;
        found = sources_.emplace(source, Untold{}).first;
    }
    Untold& untold = found->second;
    ++untold.count;
    untold.heard = true;
    if (untold.told || told_ >= told_max) return;
    untold.told = true;
    ++told_;
    tell(attempt, std::exchange(untold.count, 0));
}

void RefusedRegistrations::begin_window(Time now) {
    before_ = now - since_ < 2 * window ? std::move(now_) : Counts{};
    now_.clear();
    since_ = now;
    told_ = 0;
    std::erase_if(sources_, [](const auto& entry) { return !entry.second.heard; });
    for (auto& [source, untold] : sources_) untold.told = untold.heard = false;
}

void RefusedRegistrations::tell(const Attempt& attempt, std::uint64_t count) {
    const std::string peer = attempt.peer.to_string();
    const std::string_view why = text(attempt.why);
    if (attempt.port == Port::matchmakers) {
        log_.with(LogLevel::warning, {{"peer", peer}, {"matchmaker", attempt.claimed}, {"count", count}},
                  "Refused a matchmaker: {}", why);
        events_.publish(event::MatchmakerRefused{attempt.claimed, peer, why, count});
    } else {
        log_.with(LogLevel::warning,
                  {{"peer", peer},
                   {"endpoint", attempt.claimed},
                   {"region", name_of(regions_, attempt.region)},
                   {"count", count}},
                  "Refused a game server: {}", why);
        events_.publish(event::ServerRefused{attempt.claimed, attempt.region, peer, why, count});
    }
}

std::optional<RefusedRegistrations::Recent> RefusedRegistrations::recent(Time now, Port port) const {
    Recent recent;
    std::map<Refusal, std::uint64_t> by_reason;
    const auto add = [&](const Counts& counts) {
        for (const auto& [kind, count] : counts)
            if (kind.first == port) by_reason[kind.second] += count;
    };
    if (now - since_ < 2 * window) add(now_);
    if (now - since_ < window) add(before_);
    std::uint64_t most = 0;
    for (const auto& [why, count] : by_reason) {
        recent.count += count;
        if (count > most) {
            most = count;
            recent.most = why;
        }
    }
    if (recent.count == 0) return std::nullopt;
    recent.last = last_.at(port);
    return recent;
}

}  // namespace muster

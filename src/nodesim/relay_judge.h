// Judges relays from both ends (N-7, fault 85): within a link nothing is lost, doubled or reordered, and a peer gets
// one answer to each thing it asks, however often the owner changes.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "nodesim/relay_work.h"
#include "relay/cell_routes.h"
#include "sim/judge.h"
#include "sim/trace.h"

namespace muster::nodesim {

// The link of one relay to one owner.
using RelayLinkNumber = std::uint64_t;

// One thread. The trace outlives it.
class RelayJudge {
public:
    RelayJudge(sim::Trace& trace, const RelayWork& work) : trace_(trace), work_(work) {}

    // The owner of the cell has heard it on the link.
    void heard(Time now, CellNumber cell, RelayLinkNumber link, Asked asked) {
        if (!work_.is_for(cell, asked))
            object(now, fmt::format("peer {}: {} is heard by another cell's owner", asked.peer, asked.number));
        note(now, fmt::format("link {}: peer {} asks {}", link, asked.peer, asked.number));
        std::int32_t& last = last_heard_[{link, asked.peer}];
        if (asked.number <= last)
            object(now, fmt::format("peer {}: {} is heard after {}", asked.peer, asked.number, last));
        for (std::int32_t between = last + 1; between < asked.number; ++between)
            if (is_missed(cell, {asked.peer, between}))
                object(now, fmt::format("peer {}: the owner does not hear {}", asked.peer, between));
        last = asked.number;
    }
    // The owner sends the answer on the link.
    void answered(RelayLinkNumber link, Asked asked) { sent_[{link, asked.peer}].push_back(asked.number); }
    // The owner of a cell answers what was asked of all cells.
    void answered_for_all(CellNumber cell, Asked asked) { answered_by_.insert({cell, asked}); }
    // The peer has got it: of several cells' answers one.
    void got(Time now, Asked asked) {
        note(now, fmt::format("peer {} is answered {}", asked.peer, asked.number));
        if (!got_.insert(asked).second)
            object(now, fmt::format("peer {} is answered {} twice", asked.peer, asked.number));
    }
    // The same, over that link.
    void got(Time now, RelayLinkNumber link, Asked asked) {
        got(now, asked);
        auto& sent = sent_[{link, asked.peer}];
        if (sent.empty() || sent.front() != asked.number)
            return object(now, fmt::format("peer {}: the answer to {} is out of order", asked.peer, asked.number));
        sent.pop_front();
    }
    void object(Time now, std::string what) {
        note(now, "objection: " + what);
        objections_.add({"N-7", std::move(what), {}, {}, now});
    }
    void note(Time now, std::string text) {
        trace_.mix(text);
        trace_.mix(static_cast<std::uint64_t>(now.time_since_epoch().count()));
        if (trace_.readable()) trace_.line({now, {}, {}, std::move(text), true});
    }

    std::size_t answers() const { return got_.size(); }
    const std::optional<sim::Objection>& objection() const { return objections_.first(); }

private:
    // What a cell has answered it need not hear again, though the peer may wait for other cells.
    bool is_missed(CellNumber cell, Asked asked) const {
        return work_.is_for(cell, asked) && !got_.contains(asked) && !answered_by_.contains({cell, asked});
    }

    sim::Trace& trace_;
    const RelayWork work_;
    sim::Objections objections_;
    std::map<std::pair<RelayLinkNumber, std::int32_t>, std::int32_t> last_heard_;
    std::map<std::pair<RelayLinkNumber, std::int32_t>, std::deque<std::int32_t>> sent_;
    std::set<std::pair<CellNumber, Asked>> answered_by_;
    std::set<Asked> got_;
};

}  // namespace muster::nodesim

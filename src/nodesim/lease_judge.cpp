#include "nodesim/lease_judge.h"

#include <algorithm>
#include <variant>

#include <fmt/format.h>

namespace muster::nodesim {

void LeaseJudge::note(std::string text) {
    trace_.mix(text);
    trace_.mix(static_cast<std::uint64_t>(clock_.now().time_since_epoch().count()));
    if (trace_.readable()) trace_.line({clock_.now(), {}, {}, std::move(text), true});
}

void LeaseJudge::object(std::string rule, std::string what) {
    note("objection: " + what);
    objections_.add({std::move(rule), std::move(what), {}, {}, clock_.now()});
}

void LeaseJudge::kept(const Change& change, const CellLine& before) {
    switch (change.kind) {
        case Change::Kind::take:
            return take(change, before);
        case Change::Kind::batch:
            return batch(change, before);
        case Change::Kind::keep:
            note(fmt::format("cell {}: {} shows that it is there in term {}", change.cell, change.node,
                             change.mark.term));
            if (before.mark.term != change.mark.term)
                object("N-3", "a node shows that it is there in a term that is over");
            return;
        case Change::Kind::renew:
        case Change::Kind::settle:
            if (before.mark.term != change.mark.term) object("N-2", "a row is written in a term that is over");
            return;
        case Change::Kind::node:
            return;
    }
}

void LeaseJudge::take(const Change& change, const CellLine& before) {
    const CellTerm what{change.cell, before.mark.term + 1};
    note(fmt::format("cell {}: term {} is {}'s", what.cell, what.term, change.node));
    const bool was_ended = before.owner == change.node && ended_.contains(before.instance);
    if (before.owner.empty()) {
        if (what.term > 1) ++hand_overs_;
    } else if (!was_ended) {
        ++takeovers_;
    }
}

void LeaseJudge::logged(const Change& change, const CellLine& line, bool is_stale) {
    if (change.kind != Change::Kind::take) return;
    newest_[change.cell] = std::max(newest_[change.cell], line.mark.term + 1);
    if (is_stale || line.owner.empty()) return;
    if (line.owner == change.node && ended_.contains(line.instance)) return;
    const Duration silent = clock_.now() - last_heard(change.cell);
    if (silent < silence - margin)
        object("N-3",
               fmt::format("cell {} is taken {:.3f} s after its owner was heard", change.cell, to_seconds(silent)));
}

void LeaseJudge::seen(const Change& change) {
    const bool is_life =
        change.kind == Change::Kind::take || change.kind == Change::Kind::batch || change.kind == Change::Kind::keep;
    if (!is_life) return;
    Time& last = last_heard_[change.cell];
    if (last != Time{}) longest_silence_ = std::max(longest_silence_, clock_.now() - last);
    last = clock_.now();
}

void LeaseJudge::batch(const Change& change, const CellLine& before) {
    ++batches_;
    note(fmt::format("cell {}: batch {} of term {}{}", change.cell, change.mark.batch, change.mark.term,
                     change.hands_over ? ", which hands over" : ""));
    if (before.mark.term != change.mark.term)
        object("N-2", fmt::format("cell {}: a batch of term {} is kept in term {}", change.cell, change.mark.term,
                                  before.mark.term));
    else if (before.owner != change.node)
        object("N-2", fmt::format("cell {}: a batch is kept that is not the owner's", change.cell));
    else if (before.mark.batch + 1 != change.mark.batch)
        object("N-2",
               fmt::format("cell {}: batch {} follows batch {}", change.cell, change.mark.batch, before.mark.batch));
    Term& term = terms_[{change.cell, change.mark.term}];
    const auto sent = term.sent.find(change.mark.batch);
    if (sent != term.sent.end()) term.last_good = std::max(term.last_good.value_or(sent->second), sent->second);
    if (!change.group) return;
    for (const RecordBatch& each : *change.group)
        for (const Record& record : each.records)
            if (const auto* match = std::get_if<MatchRecord>(&record)) {
                durable_.insert(match->lobby);
                if (refused_.contains(match->lobby))
                    object("N-5", fmt::format("lobby {} is refused and kept", match->lobby.value));
            }
}

void LeaseJudge::owns(const std::string& node, CellTerm what) {
    std::string& before = terms_[what].node;
    if (!before.empty() && before != node)
        object("N-2", fmt::format("cell {}: {} and {} both own term {}", what.cell, before, node, what.term));
    before = node;
}

void LeaseJudge::sent(CellTerm what, std::int64_t batch) {
    terms_[what].sent[batch] = clock_.now();
}

void LeaseJudge::gave_up(const std::string& node, CellTerm what) {
    note(fmt::format("{} gives cell {} up in term {}", node, what.cell, what.term));
    if (newest_[what.cell] <= what.term)
        object("N-2", fmt::format("{} gives cell {} up though its term stands", node, what.cell));
}

void LeaseJudge::recovered(CellTerm what, const RecoveredState& state) {
    note(fmt::format("cell {}: recovered in term {}", what.cell, what.term));
    // It stood still after it read, and another owns the cell by now: the fence refuses whatever it writes.
    if (newest_[what.cell] > what.term) return;
    std::set<LobbyId> found;
    for (const MatchRecord& match : state.matches) found.insert(match.lobby);
    for (const auto& [promise, cell] : answered_)
        if (cell == what.cell && !found.contains(promise))
            object("N-6", fmt::format("cell {}: what was promised to lobby {} is not recovered", cell, promise.value));
}

void LeaseJudge::answered(CellTerm what, LobbyId promise, const CellLine& row) {
    note(fmt::format("cell {}: lobby {} is answered in term {}", what.cell, promise.value, what.term));
    answered_[promise] = what.cell;
    if (!durable_.contains(promise)) object("N-5", fmt::format("lobby {} is answered and not kept", promise.value));
    if (row.mark.term != what.term)
        object("N-4", fmt::format("cell {}: a promise leaves after term {}", what.cell, what.term));
    const auto& good = terms_[what].last_good;
    if (!good || clock_.now() - *good >= silence - margin)
        object("N-4", fmt::format("cell {}: a promise leaves after the window", what.cell));
}

void LeaseJudge::refused(LobbyId promise) {
    note(fmt::format("lobby {} is refused", promise.value));
    refused_.insert(promise);
    if (durable_.contains(promise)) object("N-5", fmt::format("lobby {} is refused and kept", promise.value));
}

void LeaseJudge::judge_promises() {
    for (const auto& [promise, cell] : answered_)
        if (!durable_.contains(promise)) object("N-5", fmt::format("lobby {} is answered and lost", promise.value));
}

Time LeaseJudge::last_heard(std::size_t cell) const {
    const auto found = last_heard_.find(cell);
    return found == last_heard_.end() ? Time{} : found->second;
}

}  // namespace muster::nodesim

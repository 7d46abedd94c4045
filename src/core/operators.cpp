#include "core/operators.h"

#include <utility>

namespace muster {

Operators::Operators(const Parts& parts, const std::vector<OperatorRecord>& recovered)
    : ledger_(parts.ledger), replies_(parts.replies), events_(parts.events) {
    for (const OperatorRecord& record : recovered) known_.emplace(record.name, State::kept);
}

Operators::Verdict Operators::add(std::uint64_t question, const OperatorRecord& wanted, event::OperatorAction done) {
    if (known_.contains(wanted.name)) return Verdict::name_taken;
    if (known_.size() >= operators_max) return Verdict::too_many;
    known_.emplace(wanted.name, State::adding);
    write(wanted, {wanted.name, question, std::move(done)});
    return Verdict::begun;
}

Operators::Verdict Operators::remove(std::uint64_t question, std::string_view name, event::OperatorAction done) {
    const auto found = known_.find(name);
    if (found == known_.end() || found->second != State::kept) return Verdict::unknown;
    found->second = State::removing;
    write(OperatorRemoved{found->first}, {found->first, question, std::move(done)});
    return Verdict::begun;
}

void Operators::write(const Record& record, Change change) {
    const std::uint64_t number = ++last_change_;
    changes_.emplace(number, std::move(change));
    ledger_.write_promised(record, [this, number](Kept kept) { settled(number, kept == Kept::durable); });
}

void Operators::settled(std::uint64_t number, bool durable) {
    Change change = std::move(changes_.extract(number).mapped());
    const auto found = known_.find(change.name);
    const bool stays = (found->second == State::adding) == durable;
    if (stays) {
        found->second = State::kept;
    } else {
        known_.erase(found);
    }
    if (!durable) return replies_.answer_question(change.question, Failure(Refusal::store_unavailable));
    events_.publish(std::move(change.done));
    replies_.answer_question(change.question, {});
}

}  // namespace muster

#include "nodesim/node_store.h"

#include <utility>

#include <fmt/format.h>

#include "base/check.h"

namespace muster::nodesim {

using namespace std::chrono_literals;

NodeStore::NodeStore(const Parts& parts, std::size_t cell, Work& work)
    : parts_(parts), cell_(cell), work_(work), watch_(LeaseJudge::silence) {}

Statement NodeStore::statement(Statement::Kind kind) const {
    Statement made;
    made.kind = kind;
    made.cell = cell_;
    made.mark = mark_;
    made.settled = settled_;
    made.node = parts_.machine.name();
    made.instance = parts_.machine.instance();
    made.wall = UnixMs{parts_.clock.wall().value + parts_.machine.date_off_ms};
    return made;
}

void NodeStore::later(Duration delay, void (NodeStore::*what)()) {
    parts_.machine.later(delay, [this, what, life = life_] {
        if (life == life_) (this->*what)();
    });
}

void NodeStore::stand_by() {
    ++life_;
    state_ = State::stands_by;
    watch_ = CellWatch(LeaseJudge::silence);
    window_.reset();
    line_ = std::make_unique<EngineLine>(parts_.engine, parts_.machine);
    keeper_.reset();
    waiting_.clear();
    group_.clear();
    course_.reset();
    last_failed_ = {};
    is_stopping_ = false;
    later(Duration(parts_.machine.random().between(0, Duration(look_every).count())), &NodeStore::look);
}

void NodeStore::kill(bool power) {
    ++life_;
    state_ = State::off;
    for (const auto& line : {line_.get(), keeper_.get()})
        if (line && power) line->vanish();
    line_.reset();
    keeper_.reset();
    window_.reset();
    waiting_.clear();
    group_.clear();
}

void NodeStore::reset_lines() {
    if (line_) line_->reset();
    if (keeper_) keeper_->reset();
}

// --- Standing by.

void NodeStore::look() {
    state_ = State::stands_by;
    if (!line_->is_connected()) {
        return line_->connect([this](bool done) {
            if (done) return look();
            watch_.missed();
            seen_ = {false, {}, "unreachable", 0};
            look_again();
        });
    }
    const Time asked = parts_.machine.now();
    line_->ask(statement(Statement::Kind::look), [this, asked](const Reply& reply) { looked(asked, reply); });
}

void NodeStore::look_again() {
    state_ = State::stands_by;
    later(look_every, &NodeStore::look);
}

void NodeStore::looked(Time asked, const Reply& reply) {
    if (reply.how != BatchReply::done) {
        watch_.missed();
        seen_ = {false, {}, "broke", 0};
        return look_again();
    }
    watch_.seen(asked, reply.line.mark);
    seen_ = {false, reply.line.owner, {}, reply.line.mark.term};
    const Machine& machine = parts_.machine;
    const bool is_gone = reply.line.owner == machine.name() && reply.line.instance != machine.instance();
    const bool is_our_turn = parts_.is_our_turn(reply.line.owner);
    bool may = may_claim({reply.line.owner, reply.line.handed_to, is_gone, is_our_turn}, machine.name(), watch_);
    if (parts_.sabotage == Sabotage::compares_clocks && !reply.line.owner.empty()) {
        const std::int64_t age = statement(Statement::Kind::look).wall.value - reply.line.written_at.value;
        may = may || age >= std::chrono::milliseconds(LeaseJudge::silence).count();
    }
    if (!may) return look_again();
    if (is_gone) parts_.judge.ended(reply.line.instance);
    take(reply.line, asked);
}

void NodeStore::take(const CellLine& seen, Time asked) {
    state_ = State::takes;
    last_commit_ = asked;
    mark_ = seen.mark;
    line_->ask(statement(Statement::Kind::take), [this](const Reply& reply) {
        if (!reply.is_locked) return taken(reply);
        line_->ask(statement(Statement::Kind::terminate), [this](const Reply&) { look_again(); });
    });
}

void NodeStore::taken(const Reply& reply) {
    const bool is_confirmed = reply.how == BatchReply::done ||
                              (reply.how == BatchReply::warned && parts_.sabotage == Sabotage::ignores_take_warning);
    if (!is_confirmed) {
        if (reply.how == BatchReply::broke) watch_.missed();
        return look_again();
    }
    mark_ = reply.line.mark;
    settled_ = reply.line.settled;
    parts_.judge.owns(parts_.machine.name(), term());
    recover();
}

// --- Recovering.

void NodeStore::recover() {
    state_ = State::recovers;
    catches_up_ = false;
    keeper_ = std::make_unique<EngineLine>(parts_.engine, parts_.machine);
    later(Duration(lease) / 2, &NodeStore::keep);
    line_->ask(statement(Statement::Kind::read), [this](const Reply& reply) {
        if (reply.how != BatchReply::done) return stand_by();
        recovered_ = reply.state;
        catches_up_ = true;
        // The keeper's last statement is waited for.
        if (keeper_->is_idle()) catch_up();
    });
}

// Shows that the owner is there while it reads.
void NodeStore::keep() {
    if (state_ != State::recovers || catches_up_) return;
    const auto again = [this] {
        if (catches_up_) return catch_up();
        later(Duration(lease) / 2, &NodeStore::keep);
    };
    if (!keeper_->is_connected()) {
        return keeper_->connect([this, again](bool done) { done && !catches_up_ ? keep() : again(); });
    }
    keeper_->ask(statement(Statement::Kind::keep), [again](const Reply&) { again(); });
}

void NodeStore::catch_up() {
    line_->ask(statement(Statement::Kind::settle), [this](const Reply& reply) {
        if (reply.how == BatchReply::fenced) return give_up();
        if (reply.how != BatchReply::done) return stand_by();
        mark_.batch = reply.last;
        settled_ = reply.line.settled;
        start(*std::exchange(recovered_, nullptr));
    });
}

void NodeStore::start(const RecoveredState& state) {
    state_ = State::owns;
    keeper_.reset();
    line_->drop();  // the store's thread makes its own
    next_connect_ = Time{};
    window_.emplace(LeaseJudge::silence);
    parts_.judge.recovered(term(), state);
    later(lease, &NodeStore::patience);
    work_.begin(state);
    turn();
}

// --- Owning.

bool NodeStore::submit(RecordBatch&& batch) {
    if (!owns() || is_stopping_ || waiting_.size() + group_.size() >= queue_max) return false;
    waiting_.push_back(std::move(batch));
    later(0ms, &NodeStore::turn);
    return true;
}

bool NodeStore::may_answer() {
    if (parts_.sabotage == Sabotage::answers_late) return true;
    if (window_ && window_->is_open(boot())) return true;
    later(0ms, &NodeStore::turn);
    return false;
}

// The store's thread has nothing to do for the time of its patience.
void NodeStore::patience() {
    if (!owns()) return;
    later(lease, &NodeStore::patience);
    turn();
}

void NodeStore::turn() {
    if (!owns() || course_) return;
    if (!waiting_.empty()) {
        group_ = std::exchange(waiting_, {});
        if (parts_.sabotage == Sabotage::hands_over_early && is_stopping_) return tell(StoreFault::none);
        const StoreFault before = last_failed_.fault_of(group_.front());
        if (before != StoreFault::none) return tell(before);
        return begin_batch(false);
    }
    if (is_stopping_) return begin_batch(true);
    if (must_commit(*window_, boot(), parts_.machine.now() - last_commit_, lease)) begin_batch(false);
}

void NodeStore::begin_batch(bool hands_over) {
    hands_over_now_ = hands_over;
    course_.emplace(line_->is_connected());
    step();
}

void NodeStore::step() {
    switch (course_->step()) {
        case BatchStep::connect:
        case BatchStep::reconnect:
            return connect();
        case BatchStep::send:
            began_ = parts_.machine.now();
            parts_.judge.sent(term(), mark_.batch + 1);
            if (commits_with_records()) return replied(BatchReply::done);
            return send(false);
        case BatchStep::commit:
            if (commits_with_records()) return send(true);
            return line_->ask(statement(Statement::Kind::commit),
                              [this](const Reply& reply) { replied(known_of(reply)); });
        case BatchStep::settle:
            return line_->ask(statement(Statement::Kind::settle), [this](const Reply& reply) {
                if (reply.how == BatchReply::refused) line_->drop();
                if (reply.how == BatchReply::done) settled_ = reply.line.settled;
                course_->settled(meaning_of(reply), reply.last, mark_.batch + 1);
                step();
            });
        case BatchStep::wait:
            return parts_.machine.later(connect_again, [this, life = life_] {
                if (life == life_) replied(BatchReply::done);
            });
        case BatchStep::end:
            return concluded();
    }
}

// The store sends COMMIT behind the records where there is one cell. The model takes turns, however many there are.
bool NodeStore::commits_with_records() const {
    return !group_.empty() && mark_.batch % 2 == 0;
}

void NodeStore::send(bool commits) {
    Statement send = statement(Statement::Kind::send);
    ++send.mark.batch;
    send.commits = commits;
    send.group = std::make_shared<const std::vector<RecordBatch>>(group_);
    send.hands_over = hands_over_now_;
    send.handed_to = successor_;
    line_->ask(send, [this](const Reply& reply) {
        const bool is_undone = reply.how == BatchReply::refused || reply.how == BatchReply::fenced;
        if (!is_undone) return replied(known_of(reply));
        line_->ask(statement(Statement::Kind::roll_back), [this, reply](const Reply& back) {
            replied(back.how == BatchReply::broke ? back.how : meaning_of(reply));
        });
    });
}

BatchReply NodeStore::known_of(const Reply& reply) const {
    const bool is_ignored = reply.how == BatchReply::warned && parts_.sabotage == Sabotage::ignores_warning;
    return is_ignored ? BatchReply::done : reply.how;
}

void NodeStore::replied(BatchReply reply) {
    const bool was_unknown = course_->is_unknown();
    course_->replied(reply);
    if (course_->is_unknown() && !was_unknown) ++unknown_;
    step();
}

BatchReply NodeStore::meaning_of(const Reply& reply) {
    if (reply.how != BatchReply::fenced) return reply.how;
    const std::string ours = parts_.machine.instance();
    if (shows_loss({reply.line.mark, reply.line.instance}, {mark_, ours})) return reply.how;
    line_->drop();
    return BatchReply::broke;
}

void NodeStore::connect() {
    if (line_->is_connected()) return replied(BatchReply::done);
    if (parts_.machine.now() < next_connect_) return replied(BatchReply::broke);
    next_connect_ = parts_.machine.now() + connect_again;
    line_->connect([this](bool done) {
        if (!done) return replied(BatchReply::broke);
        line_->ask(statement(Statement::Kind::renew), [this](const Reply& reply) {
            const BatchReply how = reply.how == BatchReply::warned ? BatchReply::broke : meaning_of(reply);
            if (how != BatchReply::done) {
                line_->drop();
                line_->try_other_host();
            }
            replied(how);
        });
    });
}

void NodeStore::concluded() {
    const BatchEnd end = course_->end();
    course_.reset();
    const bool was_last = std::exchange(hands_over_now_, false);
    switch (end) {
        case BatchEnd::committed:
            last_commit_ = began_;
            window_->committed(began_.time_since_epoch());
            [[fallthrough]];
        case BatchEnd::settled:
            ++mark_.batch;
            tell(StoreFault::none);
            break;
        case BatchEnd::failed:
        case BatchEnd::not_applied:
            tell(StoreFault::transient);
            break;
        case BatchEnd::over:
            return give_up();
    }
    if (was_last) closed();
}

void NodeStore::tell(StoreFault fault) {
    std::vector<RecordBatch> group = std::exchange(group_, {});
    if (fault != StoreFault::none && !group.empty()) last_failed_ = {group.back().number, fault};
    const std::uint64_t life = life_;
    for (RecordBatch& batch : group) {
        if (fault == StoreFault::none) batch.records.clear();
        work_.outcome({batch.number, fault, std::move(batch.records)});
        if (life != life_) return;
    }
    // Upkeep comes after the answers; a failed one is not tried at once.
    later(fault == StoreFault::none ? Duration{0} : Duration{connect_again}, &NodeStore::turn);
}

void NodeStore::give_up() {
    parts_.judge.gave_up(parts_.machine.name(), term());
    const bool had_work = state_ == State::owns;
    state_ = State::off;
    if (had_work) work_.end();
    stand_by();
}

void NodeStore::hand_over(std::string successor, bool stands_by) {
    if (!owns() || is_stopping_) return;
    is_stopping_ = true;
    stands_by_after_ = stands_by;
    successor_ = std::move(successor);
    later(0ms, &NodeStore::turn);
}

// The last step of a store that was told to end, whether it could hand over or not.
void NodeStore::closed() {
    work_.end();
    if (stands_by_after_) return stand_by();
    kill(false);
}

}  // namespace muster::nodesim

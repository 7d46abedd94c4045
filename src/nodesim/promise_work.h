// What an owner does in a world without peers: it makes promises, has them written, and answers when it may, as the
// daemon's game does (daemon/held_outcomes.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "cluster/held_outcomes.h"
#include "nodesim/node_store.h"

namespace muster::nodesim {

// One thread. Machine and judge outlive it; the store is given once it is there.
class PromiseWork final : public NodeStore::Work {
public:
    // `next` gives lobbies, each once.
    PromiseWork(Machine& machine, LeaseJudge& judge, const Engine& engine, std::function<LobbyId()> next)
        : machine_(machine), judge_(judge), engine_(engine), next_(std::move(next)) {}

    void serve(NodeStore& store) { store_ = &store; }

    void begin(const RecoveredState&) override {
        ++life_;
        number_ = answered_ = 0;
        pending_.clear();
        said_.clear();
        held_ = {};
        later(std::chrono::milliseconds(1), &PromiseWork::make);
    }
    void outcome(BatchOutcome outcome) override {
        answered_ = outcome.number;
        held_.take(std::move(outcome), may_answer(), [this](BatchOutcome&& told) { tell(told); });
        if (held_.waiting()) later(look_again, &PromiseWork::release);
    }
    void end() override { ++life_; }

private:
    static constexpr std::chrono::milliseconds look_again{10};

    std::function<bool()> may_answer() {
        return [this] { return store_->may_answer(); };
    }
    void later(Duration delay, void (PromiseWork::*what)()) {
        machine_.later(delay, [this, what, life = life_] {
            if (life == life_) (this->*what)();
        });
    }
    void make() {
        later(Duration(machine_.random().between(5'000'000, 300'000'000)), &PromiseWork::make);
        MatchRecord match;
        match.lobby = next_();
        match.state = MatchState::allocated;
        RecordBatch batch{number_ + 1, {match}, number_ > answered_ ? number_ : 0};
        if (!store_->submit(std::move(batch))) return;
        pending_[++number_] = match.lobby;
    }
    void release() {
        held_.release(may_answer(), [this](BatchOutcome&& told) { tell(told); });
        if (held_.waiting()) later(look_again, &PromiseWork::release);
    }
    void tell(const BatchOutcome& outcome) {
        const LobbyId lobby = pending_[outcome.number];
        pending_.erase(outcome.number);
        if (outcome.fault != StoreFault::none) return judge_.refused(lobby);
        said_.push_back(lobby);
        later(std::chrono::microseconds(100), &PromiseWork::flush);
    }
    // The end of a pass.
    void flush() {
        if (said_.empty()) return;
        if (!held_.may_send(may_answer())) return later(look_again, &PromiseWork::flush);
        const CellTerm term = store_->term();
        for (const LobbyId lobby : std::exchange(said_, {}))
            judge_.answered(term, lobby, engine_.kept().line(term.cell));
    }

    Machine& machine_;
    LeaseJudge& judge_;
    const Engine& engine_;
    const std::function<LobbyId()> next_;
    NodeStore* store_ = nullptr;
    std::uint64_t life_ = 0;
    std::uint64_t number_ = 0;    // of the last batch
    std::uint64_t answered_ = 0;  // of the last one that the store has answered
    std::map<std::uint64_t, LobbyId> pending_;
    std::vector<LobbyId> said_;  // in this pass
    HeldOutcomes held_;
};

}  // namespace muster::nodesim

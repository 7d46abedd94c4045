// Judges what nodes do to cells, seen from outside: from what the engine keeps, and from what leaves the nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/virtual_clock.h"
#include "core/records.h"
#include "nodesim/database.h"
#include "nodesim/engine.h"
#include "sim/judge.h"
#include "sim/trace.h"

namespace muster::nodesim {

// A cell in one term.
struct CellTerm {
    std::size_t cell = 0;
    std::int64_t term = 0;
    friend auto operator<=>(const CellTerm&, const CellTerm&) = default;
};

// One thread. Clock and trace outlive it.
class LeaseJudge final : public EngineWatcher {
public:
    // The shortest silence after which a cell may be taken, and how long before that an owner falls silent itself.
    static constexpr std::chrono::seconds silence{5};
    static constexpr std::chrono::seconds margin{1};

    LeaseJudge(const VirtualClock& clock, sim::Trace& trace) : clock_(clock), trace_(trace) {}

    void logged(const Change& change, const CellLine& line, bool is_stale) override;
    void kept(const Change& change, const CellLine& before) override;
    void seen(const Change& change) override;

    // What nodes believe and do.
    void owns(const std::string& node, CellTerm what);
    // Its process is known to have ended: no silence is waited for.
    void ended(const std::string& instance) { ended_.insert(instance); }
    void sent(CellTerm what, std::int64_t batch);
    void gave_up(const std::string& node, CellTerm what);
    void recovered(CellTerm what, const RecoveredState& state);
    // Promises are lobbies.
    void answered(CellTerm what, LobbyId promise, const CellLine& row);
    void refused(LobbyId promise);
    // At the end.
    void judge_promises();

    void note(std::string text);
    void object(std::string rule, std::string what);
    const std::optional<sim::Objection>& objection() const { return objections_.first(); }

    std::uint64_t takeovers() const { return takeovers_; }  // from another node, which had not handed over
    std::uint64_t hand_overs() const { return hand_overs_; }
    std::uint64_t batches() const { return batches_; }
    std::size_t promises() const { return answered_.size(); }
    // Of a cell whose owner had been heard before.
    Duration longest_silence() const { return longest_silence_; }
    // When its owner showed last that it is there.
    Time last_heard(std::size_t cell) const;

private:
    struct Term {
        std::string node{};                   // who believes to own it
        std::map<std::int64_t, Time> sent{};  // when each batch was
        std::optional<Time> last_good{};      // the sending of the last one that was kept
    };

    void take(const Change& change, const CellLine& before);
    void batch(const Change& change, const CellLine& before);

    const VirtualClock& clock_;
    sim::Trace& trace_;
    sim::Objections objections_;
    std::map<CellTerm, Term> terms_;
    std::map<std::size_t, Time> last_heard_;
    std::map<std::size_t, std::int64_t> newest_;  // the newest term that anybody could have seen
    Duration longest_silence_{0};
    std::set<std::string> ended_;
    std::set<LobbyId> durable_;
    std::set<LobbyId> refused_;
    std::map<LobbyId, std::size_t> answered_;  // and of which cell
    std::uint64_t takeovers_ = 0;
    std::uint64_t hand_overs_ = 0;
    std::uint64_t batches_ = 0;
};

}  // namespace muster::nodesim

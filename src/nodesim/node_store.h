// One cell at one node, on the model engine: what postgres/pg_store and its thread do, step by step under virtual time.
// What is decided is decided by the same code: CellWatch, may_claim(), BatchCourse, AnswerWindow, FailedBatch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "core/ledger.h"
#include "core/records.h"
#include "nodesim/engine.h"
#include "nodesim/engine_line.h"
#include "nodesim/lease_judge.h"
#include "nodesim/machine.h"
#include "nodesim/sabotage.h"
#include "postgres/answer_window.h"
#include "postgres/batch_course.h"
#include "postgres/cell_claim.h"
#include "postgres/cell_watch.h"

namespace muster::nodesim {

// One thread. All it is given outlives it. It stands by, owns the cell, and gives it up; then it stands by again.
class NodeStore final : public BatchOutput {
public:
    static constexpr std::chrono::milliseconds look_every{250};
    static constexpr std::chrono::seconds lease{1};
    static constexpr std::chrono::milliseconds connect_again{250};
    static constexpr std::size_t queue_max = 64;

    // What the owner of the cell does with it.
    class Work {
    public:
        virtual ~Work() = default;
        virtual void begin(const RecoveredState& state) = 0;
        virtual void outcome(BatchOutcome outcome) = 0;
        // The cell is another's, or was handed over: not one more word.
        virtual void end() = 0;
    };

    struct Parts {
        Engine& engine;
        Machine& machine;
        LeaseJudge& judge;
        const VirtualClock& clock;
        Sabotage sabotage = Sabotage::none;
        std::function<bool(const std::string& owner)> is_our_turn{};  // as PgStore::try_to_own() asks
    };
    NodeStore(const Parts& parts, std::size_t cell, Work& work);

    // From now on, in this run of the process.
    void stand_by();
    // kill -9; with the power the engine is not told.
    void kill(bool power);
    // Writes what waits and names the successor with the last batch; then it stands by, or does not.
    void hand_over(std::string successor, bool stands_by);

    [[nodiscard]] bool submit(RecordBatch&& batch) override;
    // See Store::may_answer().
    bool may_answer() override;

    std::size_t cell() const { return cell_; }
    bool owns() const { return state_ == State::owns; }
    CellTerm term() const { return {cell_, mark_.term}; }
    std::uint64_t unknown() const { return unknown_; }
    // Who had the cell at the last look, and in which term.
    const CellOwnership& seen() const { return seen_; }
    // Somebody resets its connections.
    void reset_lines();

private:
    enum class State : std::uint8_t { off, stands_by, takes, recovers, owns };

    Duration boot() const { return parts_.machine.now().time_since_epoch(); }
    Statement statement(Statement::Kind kind) const;
    void later(Duration delay, void (NodeStore::*what)());

    void look();
    void looked(Time asked, const Reply& reply);
    void look_again();
    void take(const CellLine& seen, Time asked);
    void taken(const Reply& reply);
    void recover();
    void keep();
    void catch_up();
    void start(const RecoveredState& state);

    void turn();
    void begin_batch(bool hands_over);
    void step();
    bool commits_with_records() const;
    void send(bool commits);
    BatchReply known_of(const Reply& reply) const;
    void replied(BatchReply reply);
    // What a refusal means, see shows_loss(). One that means nothing loses the connection.
    BatchReply meaning_of(const Reply& reply);
    void connect();
    void concluded();
    void tell(StoreFault fault);
    void patience();
    void give_up();
    void closed();

    const Parts parts_;
    const std::size_t cell_;
    Work& work_;
    State state_ = State::off;
    std::uint64_t life_ = 0;  // what was planned in an earlier one is dropped
    std::unique_ptr<EngineLine> line_;
    std::unique_ptr<EngineLine> keeper_;
    CellWatch watch_;
    CellOwnership seen_;
    CellMark mark_{};
    std::int64_t settled_ = 0;            // when the term began, then as of the last settling
    std::optional<AnswerWindow> window_;  // while it owns the cell
    std::shared_ptr<const RecoveredState> recovered_;
    bool catches_up_ = false;

    std::vector<RecordBatch> waiting_;
    std::vector<RecordBatch> group_;  // under way
    FailedBatch last_failed_;
    std::optional<BatchCourse> course_;
    bool hands_over_now_ = false;
    Time began_{};
    Time last_commit_{};
    Time next_connect_{};
    bool is_stopping_ = false;
    bool stands_by_after_ = false;
    std::string successor_;
    std::uint64_t unknown_ = 0;
};

}  // namespace muster::nodesim

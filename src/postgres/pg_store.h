// The store on PostgreSQL: one cell's records, written by the node that owns the cell and by nobody else (N-1 to N-6).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/time.h"
#include "core/cell_plan.h"
#include "postgres/answer_window.h"
#include "postgres/batch_course.h"
#include "postgres/cell_claim.h"
#include "postgres/cell_watch.h"
#include "postgres/pg_cell.h"
#include "postgres/pg_connection.h"
#include "postgres/pg_hosts.h"
#include "postgres/pg_writer.h"
#include "store/commit_figures.h"
#include "store/history_limits.h"
#include "store/kept_past.h"
#include "store/settled_date.h"
#include "store/store.h"
#include "store/store_thread.h"

namespace muster {

struct PgStoreOptions {
    PgOptions connection{};
    std::string cell = "main";    // the one that this store is of
    CellPlans cells{CellPlan{}};  // all that the nodes share
    std::string node{};
    std::string instance{};                               // our process
    std::function<bool(const std::string&)> has_ended{};  // whether that process certainly has; none: nobody knows
    Duration silence = std::chrono::seconds(5);
    Duration lease = std::chrono::seconds(1);  // the owner shows at least this often that it is there
    StoreThread::Limits limits{};
    HistoryLimits history{};
    Duration prune_every = std::chrono::minutes(1);
};

// Built, owned, recovered and started by one thread; submit() and stop() are for that thread, too. The clock outlives
// the store and may be asked from any thread.
//
// While the engine is away, batches fail as transient; the connection is made again as soon as the engine answers. A
// batch whose commit was not answered is settled before anything else is: never guessed. When another node has taken
// the cell, the store dies with `exit_taken_over`, and nothing it still holds is written.
class PgStore final : public Store, private StoreEngine {
public:
    // How often a node looks whether it may take the cell.
    static constexpr std::chrono::milliseconds look_every{250};

    // Connects, judges the engine's settings (N-10) and prepares the tables. Throws StoreError: 65 when the database is
    // not ours or newer, 74 when it cannot be reached or rights are missing, 78 when its settings lose promises or its
    // cells are not ours.
    PgStore(const Clock& clock, const PgStoreOptions& options);
    ~PgStore() override;

    // What an operator should know of the engine.
    const std::vector<std::string>& warnings() const { return warnings_; }

    // Takes the cell when nobody has it, or its owner was silent for long enough. Call it every `look_every` until the
    // cell is ours; then recover(). `is_our_turn` says of the owner that it has, empty for nobody, whether this node is
    // to be the next (N-12); none: it is.
    using IsOurTurn = std::function<bool(const std::string& owner)>;
    CellOwnership try_to_own(const IsOurTurn& is_our_turn = {});

    RecoveredState recover() override;
    void on_durable(OnDurable on_durable) override { thread_.on_durable(std::move(on_durable)); }
    void start(OnOutcome on_outcome, OnFatal on_fatal) override;
    [[nodiscard]] bool submit(RecordBatch&& batch) override { return thread_.submit(std::move(batch)); }
    // Hands the cell over at the end: to the successor if there is one, else to whoever comes first.
    void set_successor(const std::string& node);
    bool stop(Duration limit) override { return thread_.stop(limit); }
    EventsFound find_events(const EventSearch& search) override;
    StoreFigures figures() const override;
    void keep_history(const HistoryLimits& limits) override;
    // N-4: until a second before another node may take the cell, counted from the sending of the last batch that was
    // committed, by a clock that a suspended machine does not stop. When it is too late, a commit is asked for.
    bool may_answer(Duration from_now) override;
    bool in_doubt() const override { return is_in_doubt_.load(std::memory_order_relaxed); }

private:
    StoreFault commit(std::span<const RecordBatch> group, std::size_t records) override;
    std::vector<std::size_t> anothers(const RecordBatch& batch) const override;
    void keep_up(bool idle) override;
    Duration patience() const override { return options_.lease; }
    void close(Time by, bool hurried) override;
    void died() override { connection_.reset(); }

    // How the COMMIT of a transaction is sent.
    enum class Commit : std::uint8_t {
        with_records,   // behind them: one round trip, and a connection that breaks in it leaves all of it unknown
        after_answers,  // to them: two round trips, and only a COMMIT without an answer is unknown
    };

    // One fenced transaction of whatever `send` sends, as it is answered to the batch: waits until an unknown outcome
    // is known. Throws StoreError.
    template <class Send>
    StoreFault settled(Commit way, Send send);
    template <class Do>
    BatchReply tried(StoreFault& fault, Do step);
    template <class Send>
    void send_batch(Commit way, Send send);
    void commit_batch(Commit way);
    void take_answers();
    // One there is stays.
    BatchReply connect();
    BatchReply refused_by(std::unique_ptr<PgConnection> connection);
    class Keeper;
    RecoveredState read_state();
    std::unique_ptr<PgConnection> connection_to_any() {
        return connect_to_any(options_.connection, hosts_, next_host_);
    }
    StoreFault judge(const PgError& error) const;
    [[noreturn]] void give_up() const;
    void prune();
    KeptPast kept();

    const Clock& clock_;
    const PgStoreOptions options_;
    const std::vector<PgHost> hosts_;
    CommitFigures figures_;
    std::vector<std::string> warnings_;

    // The owner's thread until start(), then the store's.
    std::unique_ptr<PgConnection> connection_;
    std::size_t next_host_ = 0;
    Time next_connect_{};
    PgCell cell_;
    CellWatch watch_;
    PgWriter writer_;
    std::unique_ptr<SettledDate> date_;
    Time last_commit_{};
    Time next_prune_{};
    bool prune_more_ = false;

    // Any thread.
    mutable std::mutex mutex_;
    HistoryLimits history_;  // guarded by mutex_
    std::string successor_;  // guarded by mutex_
    std::mutex reader_mutex_;
    std::unique_ptr<PgConnection> reader_;  // guarded by reader_mutex_
    std::size_t reader_host_ = 0;           // guarded by reader_mutex_
    std::atomic<bool> is_away_{false};      // the engine did not answer last
    std::atomic<bool> is_in_doubt_{false};  // it did not say what became of a batch
    AnswerWindow window_;
    StoreThread thread_;  // last: it ends before what it uses
};

}  // namespace muster

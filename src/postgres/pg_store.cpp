#include "postgres/pg_store.h"

#include <condition_variable>
#include <ctime>
#include <limits>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/thread_name.h"
#include "postgres/pg_cells.h"
#include "postgres/pg_events.h"
#include "postgres/pg_recovery.h"
#include "postgres/pg_schema.h"
#include "store/store_fault.h"

namespace muster {
namespace {

// After a connection that failed the next one is tried this much later, so that nothing spins.
constexpr std::chrono::milliseconds connect_again{250};
// The engine does not tell how much room its disk has: operators of the database watch that.
constexpr std::int64_t disk_unknown = std::numeric_limits<std::int64_t>::max();
// Rows of one table that one step of pruning removes at most.
constexpr int rows_per_step = 2'000;

std::vector<PgHost> hosts_or_refuse(const std::string& url) {
    auto hosts = pg_hosts_of(url);
    if (!hosts) throw StoreError(exit_config, "store.url: " + hosts.error());
    return std::move(*hosts);
}

// Goes on while the machine is suspended.
Duration boot_time() {
    timespec now{};
    clock_gettime(CLOCK_BOOTTIME, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

StoreError cannot_reach(const PgError& error) {
    return {exit_io, fmt::format("the database cannot be reached: {}", error.what())};
}

}  // namespace

PgStore::PgStore(const Clock& clock, const PgStoreOptions& options)
    : clock_(clock),
      options_(options),
      hosts_(hosts_or_refuse(options.connection.url)),
      cell_(options.cell, options.node, options.instance),
      watch_(options.silence),
      writer_(options.cell),
      history_(options.history),
      window_(options.silence),
      thread_(clock, *this, options.limits) {
    figures_.measured(0, disk_unknown, false);
    try {
        connection_ = connection_to_any();
        warnings_ = judge_pg_settings(*connection_);
        prepare_pg_schema(*connection_);
        plan_pg_cells(*connection_, options.cells);
    } catch (const PgError& error) {
        throw cannot_reach(error);
    }
}

PgStore::~PgStore() {
    thread_.end();
}

CellOwnership PgStore::try_to_own(const IsOurTurn& is_our_turn) {
    MUSTER_CHECK(!thread_.has_started(), "a cell is taken before the store starts");
    try {
        if (!connection_) connection_ = connection_to_any();
        const Time asked = clock_.now();
        const CellRow row = cell_.look(*connection_);
        watch_.seen(asked, row.mark);
        const bool is_gone = row.owner == options_.node && options_.has_ended && options_.has_ended(row.instance);
        const bool is_our = !is_our_turn || is_our_turn(row.owner);
        if (!may_claim({row.owner, row.handed_to, is_gone, is_our}, options_.node, watch_))
            return {false, row.owner, {}, row.mark.term};
        if (!cell_.take(*connection_, row.mark)) return {false, row.owner, {}, row.mark.term};
        last_commit_ = asked;
        return {true, row.owner, {}, cell_.mark().term};
    } catch (const PgError& error) {
        watch_.missed();
        connection_.reset();
        return {false, {}, error.what()};
    }
}

// Shows the others that the owner is there while it reads: that may take longer than their patience.
class PgStore::Keeper {
public:
    Keeper(const PgStoreOptions& options, const std::vector<PgHost>& hosts, const CellKept& kept)
        : thread_([this, &options, &hosts, kept] { run(options, hosts, kept); }) {}
    ~Keeper() {
        {
            const std::lock_guard lock(mutex_);
            ends_ = true;
        }
        end_.notify_one();
        thread_.join();
    }
    Keeper(const Keeper&) = delete;
    Keeper& operator=(const Keeper&) = delete;

private:
    void run(const PgStoreOptions& options, const std::vector<PgHost>& hosts, const CellKept& kept) {
        name_this_thread("keeper");
        std::unique_ptr<PgConnection> connection;
        std::size_t host = 0;
        std::unique_lock lock(mutex_);
        while (!end_.wait_for(lock, options.lease / 2, [this] { return ends_; })) {
            try {
                if (!connection) connection = connect_to_any(options.connection, hosts, host);
                if (!PgCell::keep(*connection, kept)) return;  // the first batch finds the term over
            } catch (const PgError&) {
                connection.reset();
            }
        }
    }

    std::mutex mutex_;
    std::condition_variable end_;
    bool ends_ = false;   // guarded by mutex_
    std::thread thread_;  // last: it uses the others
};

RecoveredState PgStore::recover() {
    MUSTER_CHECK(!thread_.has_started() && cell_.mark().term > 0, "a cell is recovered by its owner, before it starts");
    try {
        RecoveredState state = read_state();
        connection_->take_warning();
        if (!cell_.catch_up(*connection_)) give_up();
        if (connection_->take_warning()) throw PgError::unreachable("no standby confirms what it holds");
        return state;
    } catch (const PgError& error) {
        throw cannot_reach(error);
    }
}

RecoveredState PgStore::read_state() {
    const Keeper keeper(options_, hosts_, cell_.kept());
    if (!connection_ && connect() != BatchReply::done) throw StoreError(exit_io, "the database cannot be reached");
    const PgRows latest = connection_->run(
        "SELECT coalesce(max(last_id), 0), coalesce(max(last_time), 0) FROM muster.event_blocks WHERE cell = $1",
        PgValues(options_.cell));
    writer_.begin_after(latest.integer(0, 0));
    const UnixMs known{latest.integer(0, 1)};
    date_ = std::make_unique<SettledDate>(clock_.now(), known.value > 0 ? known : clock_.wall());
    return read_pg_state(*connection_, options_.cell, kept(), options_.cells.size() > 1);
}

void PgStore::start(OnOutcome on_outcome, OnFatal on_fatal) {
    next_prune_ = clock_.now() + options_.prune_every;
    connection_.reset();  // the store's thread makes its own, with its statements prepared
    thread_.start(std::move(on_outcome), std::move(on_fatal));
}

EventsFound PgStore::find_events(const EventSearch& search) {
    const std::lock_guard lock(reader_mutex_);
    try {
        if (!reader_) reader_ = connect_to_any(options_.connection, hosts_, reader_host_);
        return find_pg_events(*reader_, options_.cell, search);
    } catch (const PgError& error) {
        reader_.reset();
        throw cannot_reach(error);
    }
}

StoreFigures PgStore::figures() const {
    StoreFigures figures = figures_.now();
    figures.queue_depth = thread_.unanswered();
    figures.away = is_away_.load(std::memory_order_relaxed);
    return figures;
}

void PgStore::keep_history(const HistoryLimits& limits) {
    {
        const std::lock_guard lock(mutex_);
        history_ = limits;
    }
    thread_.wake();
}

bool PgStore::may_answer(Duration from_now) {
    if (window_.is_open(boot_time() + from_now)) return true;
    thread_.wake();
    return false;
}

StoreFault PgStore::commit(std::span<const RecordBatch> group, std::size_t records) {
    const Time began = clock_.now();
    // Where there are several cells, the answers say which records are another's (N-8): they are needed.
    const Commit way = options_.cells.size() == 1 ? Commit::with_records : Commit::after_answers;
    const StoreFault fault = settled(way, [&](PgConnection& to) {
        const UnixMs now = clock_.wall();
        for (const RecordBatch& batch : group)
            for (const Record& record : batch.records) writer_.write(to, record, now);
        writer_.finish(to);
    });
    if (fault == StoreFault::none) {
        writer_.committed();
        figures_.committed(records, clock_.now() - began);
    } else {
        writer_.rolled_back();
        figures_.failed(fault);
    }
    return fault;
}

std::vector<std::size_t> PgStore::anothers(const RecordBatch& batch) const {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; writer_.has_anothers() && i < batch.records.size(); ++i)
        if (writer_.is_anothers(batch.records[i])) places.push_back(i);
    return places;
}

template <class Send>
StoreFault PgStore::settled(Commit way, Send send) {
    BatchCourse course(connection_ != nullptr);
    StoreFault fault = StoreFault::transient;
    Time began{};
    Duration began_boot{};
    while (course.step() != BatchStep::end) {
        switch (course.step()) {
            case BatchStep::connect:
            case BatchStep::reconnect:
                course.replied(connect());
                break;
            case BatchStep::send:
                began = clock_.now();
                began_boot = boot_time();
                course.replied(tried(fault, [&] { send_batch(way, send); }));
                break;
            case BatchStep::commit:
                course.replied(tried(fault, [&] { commit_batch(way); }));
                break;
            case BatchStep::settle: {
                std::optional<std::int64_t> last;
                BatchReply reply = tried(fault, [&] { last = cell_.settle(*connection_); });
                if (reply == BatchReply::done && !last) reply = refused_by(std::move(connection_));
                if (reply == BatchReply::refused) connection_.reset();
                course.settled(reply, last.value_or(0), cell_.mark().batch + 1);
                break;
            }
            case BatchStep::wait:
                if (thread_.abandoned())
                    throw StoreError(exit_io, "the database did not tell whether it kept the last batch");
                std::this_thread::sleep_for(connect_again);
                course.replied(BatchReply::done);
                break;
            case BatchStep::end:
                break;
        }
        if (course.is_unknown() && !is_in_doubt_.exchange(true, std::memory_order_relaxed)) {
            is_away_.store(true, std::memory_order_relaxed);
            figures_.failed(StoreFault::transient);
        }
    }
    is_in_doubt_.store(false, std::memory_order_relaxed);
    is_away_.store(connection_ == nullptr, std::memory_order_relaxed);
    switch (course.end()) {
        case BatchEnd::committed:
            last_commit_ = began;
            window_.committed(began_boot);
            [[fallthrough]];
        case BatchEnd::settled:
            cell_.committed();
            return StoreFault::none;
        case BatchEnd::failed:
            return fault;
        case BatchEnd::not_applied:
            return StoreFault::transient;
        case BatchEnd::over:
            break;
    }
    give_up();
}

// Does one step and says how the engine answered; `fault` becomes what a refusal means.
template <class Do>
BatchReply PgStore::tried(StoreFault& fault, Do step) {
    connection_->take_warning();
    try {
        step();
        return connection_->take_warning() ? BatchReply::warned : BatchReply::done;
    } catch (const PgError& error) {
        if (error.is_unreachable()) {
            connection_.reset();
            return BatchReply::broke;
        }
        if (PgCell::is_fence(error)) return refused_by(std::move(connection_));
        fault = judge(error);
        return BatchReply::refused;
    }
}

// The row at the other end of this connection is not ours. That of a primary which was replaced proves nothing.
BatchReply PgStore::refused_by(std::unique_ptr<PgConnection> connection) {
    try {
        if (cell_.is_lost(*connection)) return BatchReply::fenced;
    } catch (const PgError&) {
        // As one that is behind.
    }
    return BatchReply::broke;
}

template <class Send>
void PgStore::send_batch(Commit way, Send send) {
    // A batch that an ended connection did not take is surely not there.
    connection_->check_open();
    writer_.begin();
    cell_.send_begin(*connection_);
    send(*connection_);
    if (way == Commit::after_answers) take_answers();
}

void PgStore::commit_batch(Commit way) {
    if (way == Commit::after_answers) {
        connection_->run("COMMIT");
        return;
    }
    PgCell::send_commit(*connection_);
    take_answers();
}

// What the engine refuses is rolled back.
void PgStore::take_answers() {
    try {
        connection_->answers([this](std::size_t place, const PgRows& rows) { writer_.answered(place, rows); });
    } catch (const PgError& error) {
        if (PgWriter::is_row_missing(error)) writer_.forget_rows();
        if (!error.is_unreachable()) connection_->run("ROLLBACK");
        throw;
    }
}

BatchReply PgStore::connect() {
    if (connection_) return BatchReply::done;
    if (clock_.now() < next_connect_) return BatchReply::broke;
    next_connect_ = clock_.now() + connect_again;
    try {
        auto connection = connection_to_any();
        ++next_host_;  // a primary that takes connections and nothing else is not the first to be tried again
        connection->take_warning();
        if (!cell_.renew(*connection)) return refused_by(std::move(connection));
        if (connection->take_warning()) return BatchReply::broke;  // no standby listens to it
        PgWriter::prepare(*connection);
        connection_ = std::move(connection);
        --next_host_;
        return BatchReply::done;
    } catch (const PgError& error) {
        if (error.is_unreachable()) return BatchReply::broke;
        static_cast<void>(judge(error));
        return BatchReply::refused;
    }
}

StoreFault PgStore::judge(const PgError& error) const {
    if (error.sqlstate == "53100") return StoreFault::full;
    if (PgWriter::is_row_missing(error)) return StoreFault::transient;
    // Resources, serialization, locks, an operator's or a fail-over's interference, a primary that became a standby.
    for (const char* passing : {"53", "40", "55", "57", "08", "25"})
        if (error.is_class(passing)) return StoreFault::transient;
    // Whoever took away a right or a table puts it back sooner than nodes that end one after the other come back.
    for (const char* mendable : {"42501", "42P01", "42703", "3F000"})
        if (error.sqlstate == mendable) return StoreFault::refused;
    throw StoreError(exit_io,
                     fmt::format("the database refused a batch: {} (SQLSTATE {})", error.what(), error.sqlstate));
}

void PgStore::give_up() const {
    throw StoreError(exit_taken_over,
                     fmt::format("another node has taken cell {} over; this one stops at once", options_.cell));
}

void PgStore::keep_up(bool) {
    if (clock_.now() >= next_prune_) {
        next_prune_ = clock_.now() + options_.prune_every;
        prune_more_ = true;
    }
    if (prune_more_) prune();
    if (must_commit(window_, boot_time() + answer_margin, clock_.now() - last_commit_, options_.lease))
        static_cast<void>(settled(Commit::after_answers, [](PgConnection&) {}));
}

// Fenced like everything else: a node that lost its cell removes nothing.
void PgStore::prune() {
    const KeptPast past = kept();
    const StoreFault fault = settled(
        Commit::after_answers, [&](PgConnection& to) { send_pg_pruning(to, options_.cell, past, rows_per_step); });
    if (fault != StoreFault::none || !connection_) {
        prune_more_ = false;
        return;
    }
    HistoryLimits limits;
    {
        const std::lock_guard lock(mutex_);
        limits = history_;
    }
    try {
        const PgPast left = measure_pg_past(*connection_, options_.cell, past);
        figures_.measured(left.event_bytes, disk_unknown, false);
        prune_more_ = left.has_old;
        if (left.event_bytes > limits.bytes_max) {
            const StoreFault shrunk = settled(
                Commit::after_answers, [&](PgConnection& to) { send_pg_shrinking(to, options_.cell, rows_per_step); });
            prune_more_ = shrunk == StoreFault::none;
        }
    } catch (const PgError& error) {
        if (error.is_unreachable()) connection_.reset();
        prune_more_ = false;
    }
}

void PgStore::close(Time by, bool hurried) {
    if (hurried || clock_.now() >= by) return;
    std::string successor;
    {
        const std::lock_guard lock(mutex_);
        successor = successor_;
    }
    static_cast<void>(settled(Commit::after_answers, [&](PgConnection& to) { cell_.send_hand_over(to, successor); }));
}

void PgStore::set_successor(const std::string& node) {
    const std::lock_guard lock(mutex_);
    successor_ = node;
}

KeptPast PgStore::kept() {
    HistoryLimits limits;
    {
        const std::lock_guard lock(mutex_);
        limits = history_;
    }
    return kept_of(limits, date_->observe(clock_.now(), clock_.wall()));
}

}  // namespace muster

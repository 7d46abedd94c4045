#include "store/committer.h"

#include <variant>

#include <fmt/core.h>
#include <sqlite3.h>

#include "store/latest_state.h"
#include "store/recovery.h"
#include "store/store_fault.h"

namespace muster {

namespace {

bool erases_token(const Record& record) {
    if (const auto* match = std::get_if<MatchRecord>(&record)) return is_over(match->state);
    return std::holds_alternative<MatchForgotten>(record);
}

}  // namespace

Committer::Committer(const StoreFileOptions& options) try
    : file_(options),
      writer_(file_.database()),
      history_(file_.database()),
      begin_(file_.database().prepare("BEGIN IMMEDIATE")),
      commit_(file_.database().prepare("COMMIT")) {
    // After one huge transaction the log does not stay huge.
    constexpr int page_with_header = 4096 + 24;
    file_.database().run(fmt::format("PRAGMA journal_size_limit = {}", 2 * log_pages_max * page_with_header));
    sqlite3_wal_hook(file_.database().handle(), committed_hook, this);
} catch (const SqliteError& error) {
    throw cannot_open(error, options.path);
}

RecoveredState Committer::recover(const KeptPast& kept) {
    try {
        return read_state(file_.database(), file_.path(), kept);
    } catch (const SqliteError& error) {
        throw cannot_open(error, file_.path());
    }
}

PastMatches Committer::latest_over(std::size_t limit) {
    try {
        return read_latest_over(file_.database(), file_.path(), limit);
    } catch (const SqliteError& error) {
        throw cannot_open(error, file_.path());
    }
}

StoreFault Committer::commit(std::span<const RecordBatch> batches, UnixMs now) {
    try {
        begin_.run();
        bool erases = false;
        for (const RecordBatch& batch : batches) {
            for (const Record& record : batch.records) {
                writer_.write(record, now);
                erases = erases || erases_token(record);
            }
        }
        writer_.finish();
        commit_.run();
        writer_.committed();
        has_erased_ = has_erased_ || erases;
        return StoreFault::none;
    } catch (const SqliteError& error) {
        const StoreFault fault = judge(error, file_.path());
        writer_.rolled_back();
        roll_back();
        return fault;
    }
}

void Committer::shorten_log() {
    checkpoint(SQLITE_CHECKPOINT_PASSIVE);
}

void Committer::empty_log() {
    checkpoint(SQLITE_CHECKPOINT_TRUNCATE);
}

bool Committer::is_cache_large() const {
    int used = 0;
    int most = 0;
    const int result =
        sqlite3_db_status(file_.database().handle(), SQLITE_DBSTATUS_CACHE_USED, &used, &most, /* reset: */ 0);
    return result == SQLITE_OK && used > cache_idle_max;
}

void Committer::release_cache() {
    sqlite3_db_release_memory(file_.database().handle());
}

template <class Value, class Call>
Value Committer::now_or(Value otherwise, Call call) {
    try {
        return call();
    } catch (const SqliteError& error) {
        static_cast<void>(judge(error, file_.path()));
        roll_back();
        return otherwise;
    }
}

bool Committer::prune_step(const KeptPast& kept) {
    writer_.events_removed();
    return now_or(false, [&] { return history_.prune_step(kept); });
}

std::int64_t Committer::prune_oldest(const KeptPast& kept, std::int64_t rows) {
    writer_.events_removed();
    return now_or(std::int64_t{0}, [&] { return history_.prune_oldest(kept, rows); });
}

std::int64_t Committer::used_bytes() {
    return now_or(std::int64_t{0}, [&] { return history_.used_bytes(); });
}

std::int64_t Committer::reusable_bytes() {
    return now_or(std::int64_t{0}, [&] { return history_.reusable_bytes(); });
}

std::optional<UnixMs> Committer::latest_date() {
    return now_or(std::optional<UnixMs>(), [&] { return history_.latest_date(); });
}

void Committer::distrust() {
    file_.database().close_without_checkpoint();
}

int Committer::committed_hook(void* self, sqlite3*, const char*, int log_pages) {
    auto& committer = *static_cast<Committer*>(self);
    // The log is written from its beginning again once all of it was moved.
    if (log_pages < committer.log_pages_) committer.moved_pages_ = 0;
    committer.log_pages_ = log_pages;
    return SQLITE_OK;
}

void Committer::checkpoint(int mode) {
    if (misplaced()) return;  // what somebody else wrote there must not pass for ours
    sqlite3* connection = file_.database().handle();
    int log_pages = 0;
    // An operator's long query is not waited for: it would hold up the commits.
    file_.database().set_busy_timeout_ms(0);
    const int result = sqlite3_wal_checkpoint_v2(connection, nullptr, mode, &log_pages, nullptr);
    const SqliteError error = last_error(connection);
    file_.database().set_busy_timeout_ms(StoreFile::busy_timeout_ms);
    file_.written();
    if (result != SQLITE_OK) {
        // What could not be moved is safe in the log; it is tried again when the log has grown.
        static_cast<void>(judge(error, file_.path()));
        moved_pages_ = log_pages_;
        return;
    }
    log_pages_ = log_pages;
    moved_pages_ = log_pages;
    if (log_pages == 0) has_erased_ = false;
}

void Committer::roll_back() {
    try {
        if (file_.database().in_transaction()) file_.database().run("ROLLBACK");
    } catch (const SqliteError& error) {
        throw StoreError(exit_io, file_.path() + ": cannot roll back: " + error.what());
    }
}

}  // namespace muster

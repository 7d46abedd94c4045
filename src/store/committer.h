// Writes batches in one transaction, keeps the write-ahead log short and deletes old history. It has no thread of its
// own, so that a test can call it step by step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/time.h"
#include "core/records.h"
#include "store/history.h"
#include "store/past_matches.h"
#include "store/record_writer.h"
#include "store/store_file.h"

namespace muster {

// One thread at a time. Every call may fail with the StoreError to end with; the file must not be written after that.
class Committer {
public:
    // Pages in the log, four kilobytes each, from which on it is moved into the file: even under load, and when idle.
    static constexpr int log_pages_max = 1000;
    static constexpr int log_pages_idle_max = 250;
    // Bytes of the cache that stay while idle: the pages of a store that only keeps the clock.
    static constexpr int cache_idle_max = 128 * 1024;

    explicit Committer(const StoreFileOptions& options);
    Committer(const Committer&) = delete;
    Committer& operator=(const Committer&) = delete;

    // Everything but the history that is no longer kept.
    RecoveredState recover(const KeptPast& kept);
    // As Store::latest_over().
    PastMatches latest_over(std::size_t limit);

    // Writes all batches and syncs once. After any fault nothing of them was written. `now` is the date of records that
    // have none.
    StoreFault commit(std::span<const RecordBatch> batches, UnixMs now);

    // True when the log has grown enough since it was last moved into the file, or tried to be.
    bool is_log_long() const { return log_pages_ - moved_pages_ >= log_pages_max; }
    // True when the log is worth emptying in an idle moment: it is long enough, or it still holds what was erased.
    bool is_log_worth_emptying() const { return log_pages_ >= log_pages_idle_max || has_erased_; }
    // Moves into the file what no reader still needs in the log. The log keeps its length: overwriting it is twice as
    // fast as growing it.
    void shorten_log();
    // Moves everything and cuts the log to nothing, so that no erased token is left in it. A reader in the way makes it
    // a shorten_log(). Under load the log is overwritten again and again, which erases, too.
    void empty_log();
    // True when the cache holds so much that an idle moment should give it back.
    bool is_cache_large() const;
    // What it holds is read again from the kernel's cache when it is needed.
    void release_cache();

    // As those of History; false and 0 also when it cannot be done now.
    bool prune_step(const KeptPast& kept);
    std::int64_t prune_oldest(const KeptPast& kept, std::int64_t rows);
    std::int64_t used_bytes();
    std::int64_t reusable_bytes();
    std::optional<UnixMs> latest_date();

    // True when the file was deleted, replaced or overwritten: nothing may be promised on what is written now.
    bool misplaced() { return file_.misplaced(); }

    // After a failure: the file is closed without another write.
    void distrust();

    const std::string& path() const { return file_.path(); }

private:
    static int committed_hook(void* self, sqlite3* connection, const char* schema, int log_pages);
    void checkpoint(int mode);
    void roll_back();
    // Runs it and returns its result, or `otherwise` when the database is busy or full.
    template <class Value, class Call>
    Value now_or(Value otherwise, Call call);

    StoreFile file_;
    RecordWriter writer_;
    History history_;
    Statement begin_;
    Statement commit_;
    int log_pages_ = 0;
    bool has_erased_ = false;  // since the log was empty, a token was erased
    int moved_pages_ = 0;      // its length when it was last moved, or tried to be
};

}  // namespace muster

#include "store/store_copy.h"

#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include "store/store_fault.h"
#include "store/store_file.h"

namespace muster {
namespace {

namespace fs = std::filesystem;

// More than a day's worth of each, at any rate that Muster can do.
constexpr std::int32_t server_ids_skipped = 1'000'000;
constexpr std::int32_t account_ids_skipped = 1'000'000;
constexpr std::int64_t epochs_skipped = 1'000'000'000;
constexpr std::int64_t event_ids_skipped = 1'000'000'000'000;

[[noreturn]] void fail(const std::string& what, int reason) {
    throw StoreError(exit_io, fmt::format("{}: {}", what, strerror(reason)));
}

void sync(const std::string& path, int flags) {
    const int file = open(path.c_str(), flags | O_CLOEXEC);
    const bool synced = file >= 0 && fsync(file) == 0;
    const int reason = errno;
    if (file >= 0) close(file);
    if (!synced) fail(path + " cannot be synced", reason);
}

// An unfinished file that is removed again unless it is moved to its place. It is locked while we work on it, so that
// one that somebody writes is told from one that a killed process left.
class Draft {
public:
    // Fails with StoreError: 73 with `taken` when another process works on it.
    Draft(std::string path, const std::string& taken) : path_(std::move(path)) {
        if (const int old = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK); old >= 0) {
            const bool is_left = flock(old, LOCK_EX | LOCK_NB) == 0;
            if (is_left) remove();
            close(old);
            if (!is_left) throw StoreError(exit_in_use, taken);
        } else if (errno != ENOENT) {
            remove();  // a link, or another user's
        }
        file_ = open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
        if (file_ < 0 && errno == EEXIST) throw StoreError(exit_in_use, taken);
        if (file_ < 0) fail(path_ + " cannot be made", errno);
        // Another may have come between both.
        if (flock(file_, LOCK_EX | LOCK_NB) != 0 || !is_in_place()) {
            close(file_);
            throw StoreError(exit_in_use, taken);
        }
    }
    ~Draft() {
        remove();
        close(file_);
    }
    Draft(const Draft&) = delete;
    Draft& operator=(const Draft&) = delete;

    const std::string& path() const { return path_; }

private:
    bool is_in_place() const {
        struct stat ours{}, there{};
        return fstat(file_, &ours) == 0 && stat(path_.c_str(), &there) == 0 && ours.st_dev == there.st_dev &&
               ours.st_ino == there.st_ino;
    }
    void remove() {
        for (const char* suffix : {"", "-wal", "-shm", "-journal", ".lock"}) unlink((path_ + suffix).c_str());
    }
    const std::string path_;
    int file_ = -1;
};

void require_ours(Database& database, const std::string& path) {
    if (database.integer("PRAGMA application_id") != application_id)
        throw StoreError(exit_damaged, path + " is not a store of Muster");
}

void require_regular(const std::string& path) {
    struct stat found{};
    if (stat(path.c_str(), &found) != 0) fail(path + " cannot be opened", errno);
    if (!S_ISREG(found.st_mode)) throw StoreError(exit_damaged, path + " is not a regular file");
    if (found.st_size == 0) throw StoreError(exit_damaged, path + " is empty");
}

// Whole numbers that may have been given out by the store that is replaced, if it can still be read.
NumbersReserved numbers_in(const std::string& path) {
    NumbersReserved numbers;
    try {
        Database database(path, Database::Access::read_only);
        Statement query =
            database.prepare("SELECT server_ids_below, epochs_below, event_ids_below FROM numbers_reserved");
        if (query.step()) numbers = {static_cast<std::int32_t>(query.integer(0)), query.integer(1), query.integer(2)};
    } catch (const SqliteError&) {
        // Missing or damaged, which is why another one takes its place.
    }
    return numbers;
}

NumbersReserved skipped_ahead(const NumbersReserved& backup, const NumbersReserved& old) {
    constexpr auto last_id = std::numeric_limits<std::int32_t>::max();
    const std::int32_t ids = std::max(backup.server_ids_below, old.server_ids_below);
    return {.server_ids_below = ids > last_id - server_ids_skipped ? last_id : ids + server_ids_skipped,
            .epochs_below = std::max(backup.epochs_below, old.epochs_below) + epochs_skipped,
            .event_ids_below = std::max(backup.event_ids_below, old.event_ids_below) + event_ids_skipped};
}

void write_numbers(Database& database, const NumbersReserved& numbers) {
    Statement put = database.prepare(
        "INSERT OR REPLACE INTO numbers_reserved (one, server_ids_below, epochs_below, event_ids_below)"
        " VALUES (1, ?1, ?2, ?3)");
    put.run(numbers.server_ids_below, numbers.epochs_below, numbers.event_ids_below);
}

// The greatest id that a name was given, as far as the file can be read.
std::int64_t greatest_account_in(const std::string& path) {
    try {
        Database database(path, Database::Access::read_only);
        return database.integer("SELECT coalesce(max(account), 0) FROM accounts");
    } catch (const SqliteError&) {
        return 0;
    }
}

// The next name gets a greater id than this one, which stands under no name that a player can have.
void skip_accounts(Database& database, std::int64_t greatest) {
    constexpr std::int64_t last = std::numeric_limits<std::int32_t>::max() - 1;
    Statement put = database.prepare("INSERT OR REPLACE INTO accounts (name, account) VALUES ('', ?1)");
    put.run(std::min(last, greatest + account_ids_skipped));
}

// The file that is there goes aside with its log: whoever restored the wrong one wants it back.
std::string put_aside(const std::string& path) {
    if (!fs::exists(path)) return {};
    std::string aside;
    for (int i = 1;; ++i) {
        aside = fmt::format("{}.before-restore-{}", path, i);
        if (link(path.c_str(), aside.c_str()) == 0) break;
        if (errno != EEXIST) fail(aside + " cannot be made", errno);
    }
    const std::string log = path + "-wal";
    if (fs::exists(log) && rename(log.c_str(), (aside + "-wal").c_str()) != 0) fail(log + " cannot be moved", errno);
    unlink((path + "-shm").c_str());
    return aside;
}

}  // namespace

void back_up(const std::string& store_path, const std::string& target) {
    if (fs::exists(fs::symlink_status(target)))
        throw StoreError(exit_io, target + " is there already; a backup overwrites nothing");
    require_regular(store_path);
    const Draft draft(target + ".part", target + " is being written by another backup");
    try {
        Database database(store_path, Database::Access::read_only);
        database.set_busy_timeout_ms(StoreFile::busy_timeout_ms);
        require_ours(database, store_path);
        Statement copy = database.prepare("VACUUM INTO ?1");
        copy.run(std::string_view(draft.path()));
        Database copied(draft.path(), Database::Access::read_only);
        if (const std::string fault = copied.text("PRAGMA quick_check(1)"); fault != "ok")
            throw StoreError(exit_damaged, fmt::format("{} is damaged: {}", store_path, fault));
    } catch (const SqliteError& error) {
        throw cannot_open(error, store_path);
    }
    sync(draft.path(), O_RDONLY);
    // Unlike a rename, a link takes nobody's place.
    if (link(draft.path().c_str(), target.c_str()) != 0) {
        if (errno == EEXIST) throw StoreError(exit_io, target + " is there already; a backup overwrites nothing");
        fail(target + " cannot be made", errno);
    }
    sync_directory_of(target);
}

Restored restore(const std::string& backup, const std::string& store_path) {
    require_regular(backup);
    const std::string path = fs::weakly_canonical(fs::absolute(store_path)).string();
    const StoreLock lock(path);
    std::optional<StoreHold> hold;
    if (fs::exists(path)) hold.emplace(path);
    Restored restored;
    const Draft draft(path + ".restored", path + " is being restored by another process");
    try {
        std::error_code error;
        fs::copy_file(backup, draft.path(), fs::copy_options::overwrite_existing, error);
        if (error) throw StoreError(exit_io, fmt::format("{} cannot be copied: {}", backup, error.message()));
        StoreFile file({.path = draft.path(), .checked_bytes_max = std::numeric_limits<std::int64_t>::max()});
        restored.numbers = skipped_ahead(numbers_in(draft.path()), numbers_in(path));
        write_numbers(file.database(), restored.numbers);
        skip_accounts(file.database(), std::max(greatest_account_in(draft.path()), greatest_account_in(path)));
    } catch (const SqliteError& error) {
        throw cannot_open(error, backup);
    } catch (const StoreError& error) {
        // Nobody knows the draft, which is gone by now.
        std::string text = error.what();
        if (const std::size_t at = text.find(draft.path()); at != std::string::npos)
            text.replace(at, draft.path().size(), backup);
        throw StoreError(error.exit_code, text);
    }
    sync(draft.path(), O_RDONLY);
    restored.old_store = put_aside(path);
    if (rename(draft.path().c_str(), path.c_str()) != 0) fail(path + " cannot be replaced", errno);
    sync_directory_of(path);
    return restored;
}

Compacted compact(const std::string& store_path) {
    require_regular(store_path);
    Compacted compacted;
    StoreFile file({.path = store_path});
    compacted.bytes_before = static_cast<std::int64_t>(fs::file_size(file.path()));
    try {
        file.database().run("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
    } catch (const SqliteError& error) {
        throw StoreError(exit_io, fmt::format("{} cannot be compacted: {}", file.path(), error.what()));
    }
    compacted.bytes_after = static_cast<std::int64_t>(fs::file_size(file.path()));
    return compacted;
}

}  // namespace muster

#include "store/store_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include "store/old_events.h"
#include "store/store_fault.h"

namespace muster {
namespace {

constexpr mode_t owner_only = S_IRUSR | S_IWUSR;

// SQLite's header: the first 100 bytes of page 1, numbers in big-endian.
constexpr std::size_t header_size = 100;
constexpr std::string_view magic{"SQLite format 3\0", 16};
constexpr std::size_t page_size_offset = 16;
constexpr std::size_t version_offset = 60;
constexpr std::size_t application_offset = 68;

using Header = std::array<unsigned char, header_size>;

[[noreturn]] void refuse(const std::string& path, std::string_view fault) {
    throw StoreError(exit_damaged, fmt::format("{} {}", path, fault));
}

// A device or a pipe is never opened, and nothing takes its place.
void refuse_irregular(const std::string& path) {
    struct stat found{};
    if (lstat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode) && !S_ISLNK(found.st_mode))
        refuse(path, "is not a regular file");
}

std::string absolute_path(const std::string& path) {
    std::error_code error;
    // A plain "muster.db" that is not there yet has no directory in its name: say whose it is first.
    auto absolute = std::filesystem::absolute(path, error);
    if (!error) absolute = std::filesystem::weakly_canonical(absolute, error);
    if (error) throw StoreError(exit_io, fmt::format("{}: {}", path, error.message()));
    if (std::filesystem::is_directory(absolute, error)) refuse(absolute.string(), "is a directory, not a store");
    refuse_irregular(absolute.string());
    // What a link points to may only be unmounted: an empty store must not take its place.
    if (std::filesystem::is_symlink(absolute, error))
        throw StoreError(exit_io, fmt::format("{} is a link to nothing", absolute.string()));
    const auto parent = absolute.parent_path();
    if (!std::filesystem::is_directory(parent, error))
        throw StoreError(exit_io, fmt::format("{}: there is no directory {}", absolute.string(), parent.string()));
    return absolute.string();
}

std::int64_t size_of(const std::string& path) {
    struct stat found{};
    if (stat(path.c_str(), &found) == 0) return found.st_size;
    if (errno == ENOENT) return 0;
    throw StoreError(exit_io, fmt::format("{} cannot be opened: {}", path, strerror(errno)));
}

Header read_header(const std::string& path) {
    Header header{};
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) throw StoreError(exit_io, fmt::format("{} cannot be opened: {}", path, strerror(errno)));
    const ssize_t length = pread(file, header.data(), header.size(), 0);
    const int reason = errno;
    close(file);
    if (length < 0) throw StoreError(exit_io, fmt::format("{} cannot be read: {}", path, strerror(reason)));
    if (static_cast<std::size_t>(length) < header.size()) refuse(path, "is truncated or not a store");
    return header;
}

std::uint32_t number_at(const Header& header, std::size_t offset) {
    std::uint32_t number = 0;
    for (std::size_t i = 0; i < 4; ++i) number = number << 8 | header[offset + i];
    return number;
}

std::int64_t page_size(const Header& header) {
    const int stored = header[page_size_offset] << 8 | header[page_size_offset + 1];
    return stored <= 1 ? 65536 : stored;
}

void refuse_newer(const std::string& path, std::int64_t version, Migrations known) {
    if (version > static_cast<std::int64_t>(known.size()))
        refuse(path, fmt::format("was written by a newer version of Muster (format {}, this one knows up to {})",
                                 version, known.size()));
}

// By the bytes alone, so that another program's file is never opened for writing.
void check_header(const std::string& path, Migrations known) {
    const Header header = read_header(path);
    if (!std::equal(magic.begin(), magic.end(), header.begin())) refuse(path, "is not a store");
    if (number_at(header, application_offset) != application_id)
        refuse(path, "is not a store of Muster but another program's SQLite file");
    refuse_newer(path, number_at(header, version_offset), known);
    // A page that a crash left half written is made whole from the log; without one, it was cut.
    const bool has_log = size_of(path + "-wal") > 0 || size_of(path + "-journal") > 0;
    if (!has_log && size_of(path) % page_size(header) != 0) refuse(path, "is truncated");
}

void restrict_mode(const std::string& path) {
    if (chmod(path.c_str(), owner_only) != 0 && errno != ENOENT)
        throw StoreError(exit_io, fmt::format("{}: cannot set its mode: {}", path, strerror(errno)));
}

// Made under another name and moved into place whole: whatever stops us, there is a complete store or none.
void create(const std::string& path, const StoreFileOptions& options) {
    const std::string unfinished = path + ".new";
    for (const char* suffix : {"", "-journal", "-wal", "-shm"}) unlink((unfinished + suffix).c_str());
    const int file = open(unfinished.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, owner_only);
    if (file < 0) throw StoreError(exit_io, fmt::format("{} cannot be made: {}", path, strerror(errno)));
    close(file);
    {
        Database database(unfinished, Database::Access::read_write, options.vfs);
        database.run(fmt::format("PRAGMA synchronous = FULL; PRAGMA application_id = {}", application_id));
        migrate(database, options.migrations);
    }
    refuse_irregular(path);
    if (rename(unfinished.c_str(), path.c_str()) != 0)
        throw StoreError(exit_io, fmt::format("{} cannot be made: {}", path, strerror(errno)));
    sync_directory_of(path);
}

// Makes the file when there is none, or refuses the one that is there.
void prepare(const std::string& path, const StoreFileOptions& options) {
    if (size_of(path) > 0) {
        check_header(path, options.migrations);
    } else if (size_of(path + "-wal") > 0) {
        refuse(path,
               "is missing or empty, but its write-ahead log is there: bring the file back, or move the log away");
    } else if (std::filesystem::exists(path)) {
        // A store is moved into place whole, so an empty file was never one of ours, or it was cut to nothing.
        refuse(path, "is empty: bring the store back from a backup, or remove the file to begin with a new store");
    } else {
        create(path, options);
    }
    for (const char* suffix : {"", "-wal", "-shm"}) restrict_mode(path + suffix);
}

void check_content(Database& database, const std::string& path, std::int64_t checked_bytes_max) {
    const auto check = [&](const std::string& pragma) {
        const std::string fault = database.text(pragma);
        if (fault != "ok") refuse(path, fmt::format("is damaged: {}", fault));
    };
    const std::int64_t bytes = database.integer("PRAGMA page_count") * database.integer("PRAGMA page_size");
    if (bytes <= checked_bytes_max) {
        check("PRAGMA quick_check(1)");
        return;
    }
    for (const char* table : {"numbers_reserved", "world_clock", "servers", "accounts"})
        check(fmt::format("PRAGMA quick_check({})", table));
}

// After a failed sync the kernel may hold pages that look written and are not on the disk. Moving the whole log into
// the file writes every page of it anew, so that a start never builds on them (fault 3).
void empty_log(Database& database, const std::string& path) {
    try {
        database.run("PRAGMA wal_checkpoint(TRUNCATE)");
    } catch (const SqliteError& error) {
        // With a full disk the log stays as it is: the store can be read, and heals when there is room.
        static_cast<void>(judge(error, path));
    }
}

// The path of a file that is there and may be ours.
std::string prepared(const std::string& path, const StoreFileOptions& options) {
    try {
        prepare(path, options);
        return path;
    } catch (const SqliteError& error) {
        throw cannot_open(error, path);
    }
}

Database open_checked(const std::string& path, const StoreFileOptions& options) {
    try {
        Database database(path, Database::Access::read_write, options.vfs);
        if (database.is_read_only()) throw StoreError(exit_io, fmt::format("{} cannot be written", path));
        database.set_busy_timeout_ms(StoreFile::busy_timeout_ms);
        refuse_newer(path, database.integer("PRAGMA user_version"), options.migrations);
        check_content(database, path, options.checked_bytes_max);
        if (database.text("PRAGMA journal_mode = WAL") != "wal")
            throw StoreError(exit_io, fmt::format("{}: its file system cannot hold a write-ahead log", path));
        database.run(
            "PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; PRAGMA foreign_keys = ON;"
            "PRAGMA wal_autocheckpoint = 0;"
            // In KiB: a page that fell out of the cache is read and checked again before the next match on it changes.
            "PRAGMA cache_size = -8192");
        empty_log(database, path);
        migrate(database, options.migrations);
        move_old_events(database);
        return database;
    } catch (const SqliteError& error) {
        throw cannot_open(error, path);
    }
}

}  // namespace

void sync_directory_of(const std::string& path) {
    const std::string parent = std::filesystem::absolute(path).parent_path().string();
    const int directory = open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool synced = directory >= 0 && fsync(directory) == 0;
    const int reason = errno;
    if (directory >= 0) close(directory);
    if (!synced) throw StoreError(exit_io, fmt::format("{}: cannot sync its directory: {}", path, strerror(reason)));
}

StoreFile::StoreFile(const StoreFileOptions& options)
    : path_(absolute_path(options.path)),
      lock_(path_),
      hold_(prepared(path_, options)),
      database_(open_checked(path_, options)) {}

}  // namespace muster

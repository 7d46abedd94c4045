#include "store/store_fault.h"

#include <cerrno>
#include <cstring>

#include <fmt/core.h>
#include <sqlite3.h>

namespace muster {
namespace {

bool is_damage(const SqliteError& error) {
    return error.family() == SQLITE_CORRUPT || error.family() == SQLITE_NOTADB;
}

bool is_sync(const SqliteError& error) {
    return error.code == SQLITE_IOERR_FSYNC || error.code == SQLITE_IOERR_DIR_FSYNC;
}

bool is_full(const SqliteError& error) {
    // The log's index in shared memory cannot grow for one reason only, and SQLite does not keep its errno.
    if (error.family() == SQLITE_FULL || error.code == SQLITE_IOERR_SHMSIZE) return true;
    const bool no_room = error.system_errno == ENOSPC || error.system_errno == EDQUOT || error.system_errno == EFBIG;
    return error.family() == SQLITE_IOERR && no_room && !is_sync(error);
}

bool is_transient(const SqliteError& error) {
    return error.family() == SQLITE_BUSY || error.family() == SQLITE_LOCKED || error.family() == SQLITE_NOMEM ||
           error.code == SQLITE_IOERR_NOMEM;
}

std::string reason(const SqliteError& error) {
    const std::string call = error.system_errno == 0 ? "" : fmt::format(", {}", strerror(error.system_errno));
    return fmt::format("{} (SQLite {}{})", error.what(), error.code, call);
}

}  // namespace

StoreFault judge(const SqliteError& error, const std::string& path) {
    if (is_full(error)) return StoreFault::full;
    if (is_transient(error)) return StoreFault::transient;
    if (is_damage(error)) throw StoreError(exit_damaged, fmt::format("{} is damaged: {}", path, reason(error)));
    if (is_sync(error)) throw StoreError(exit_io, fmt::format("{}: the disk failed to sync: {}", path, reason(error)));
    throw StoreError(exit_io, fmt::format("{}: {}", path, reason(error)));
}

StoreError cannot_open(const SqliteError& error, const std::string& path) {
    switch (error.family()) {
        case SQLITE_CORRUPT:
        case SQLITE_NOTADB:
            return {exit_damaged, fmt::format("{} is damaged: {}", path, reason(error))};
        case SQLITE_ERROR:  // a statement of ours does not fit
            return {exit_damaged, fmt::format("{} does not hold the tables of its version: {}", path, error.what())};
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
            return {exit_in_use, fmt::format("{} is locked by another program", path)};
        case SQLITE_CANTOPEN:
        case SQLITE_PERM:
        case SQLITE_READONLY:
            return {exit_io, fmt::format("{} cannot be opened: {}", path, reason(error))};
        default:
            return {exit_io, fmt::format("{}: {}", path, reason(error))};
    }
}

}  // namespace muster

#include "store/store_fault.h"

#include <cerrno>

#include <doctest/doctest.h>
#include <sqlite3.h>

using namespace muster;

namespace {

const std::string path = "/var/lib/muster/muster.db";

StoreError death_by(int code, int system_errno) {
    try {
        static_cast<void>(judge(SqliteError(code, system_errno, "as SQLite says"), path));
    } catch (const StoreError& error) {
        return error;
    }
    return {0, "no death"};
}

StoreFault fault_of(int code, int system_errno = 0) {
    return judge(SqliteError(code, system_errno, "as SQLite says"), path);
}

}  // namespace

TEST_CASE("fault 4: no room on the disk may heal, however SQLite says it") {
    CHECK(fault_of(SQLITE_FULL) == StoreFault::full);
    CHECK(fault_of(SQLITE_IOERR_WRITE, ENOSPC) == StoreFault::full);
    CHECK(fault_of(SQLITE_IOERR_WRITE, EDQUOT) == StoreFault::full);
    CHECK(fault_of(SQLITE_IOERR_WRITE, EFBIG) == StoreFault::full);
    CHECK(fault_of(SQLITE_IOERR_SHMSIZE, ENOSPC) == StoreFault::full);
}

TEST_CASE("X-4: a lock held by another program and a lack of memory may pass") {
    CHECK(fault_of(SQLITE_BUSY) == StoreFault::transient);
    CHECK(fault_of(SQLITE_BUSY_SNAPSHOT) == StoreFault::transient);
    CHECK(fault_of(SQLITE_LOCKED) == StoreFault::transient);
    CHECK(fault_of(SQLITE_NOMEM) == StoreFault::transient);
    CHECK(fault_of(SQLITE_IOERR_NOMEM) == StoreFault::transient);
}

TEST_CASE("fault 3: a failed sync is the end, also when it failed for lack of room") {
    CHECK(death_by(SQLITE_IOERR_FSYNC, EIO).exit_code == exit_io);
    CHECK(death_by(SQLITE_IOERR_FSYNC, ENOSPC).exit_code == exit_io);
    CHECK(death_by(SQLITE_IOERR_DIR_FSYNC, EIO).exit_code == exit_io);
    CHECK(death_by(SQLITE_IOERR_FSYNC, EIO).what() ==
          path + ": the disk failed to sync: as SQLite says (SQLite 1034, Input/output error)");
}

TEST_CASE("fault 3: every other fault of the disk is the end, and damage has its own code") {
    CHECK(death_by(SQLITE_IOERR_WRITE, EIO).exit_code == exit_io);
    CHECK(death_by(SQLITE_IOERR_READ, EIO).exit_code == exit_io);
    CHECK(death_by(SQLITE_CONSTRAINT, 0).exit_code == exit_io);
    CHECK(death_by(SQLITE_CORRUPT, 0).exit_code == exit_damaged);
    CHECK(death_by(SQLITE_NOTADB, 0).exit_code == exit_damaged);
}

#include "store/database.h"

#include <sqlite3.h>

#include "base/check.h"

namespace muster {
namespace {

// The errno of the last call that failed on that file; SQLite's own sqlite3_system_errno() knows none for a COMMIT.
int errno_of(sqlite3* connection, int file_pointer) {
    sqlite3_file* file = nullptr;
    int number = 0;
    if (sqlite3_file_control(connection, "main", file_pointer, static_cast<void*>(&file)) == SQLITE_OK && file &&
        file->pMethods)
        file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &number);
    return number;
}

int system_errno(sqlite3* connection, int code) {
    if ((code & 0xFF) != SQLITE_IOERR) return sqlite3_system_errno(connection);
    // Commits write the log; the file itself is only written when the log is moved into it.
    const int log = errno_of(connection, SQLITE_FCNTL_JOURNAL_POINTER);
    return log != 0 ? log : errno_of(connection, SQLITE_FCNTL_FILE_POINTER);
}

}  // namespace

SqliteError last_error(sqlite3* connection) {
    const int code = sqlite3_extended_errcode(connection);
    // Copied first: the calls for errno leave a message of their own.
    const std::string what = sqlite3_errmsg(connection);
    return {code, system_errno(connection, code), what};
}

void Statement::Finalize::operator()(sqlite3_stmt* statement) const noexcept {
    sqlite3_finalize(statement);
}

bool Statement::step() {
    const int result = sqlite3_step(statement_.get());
    if (result == SQLITE_ROW) return true;
    if (result == SQLITE_DONE) {
        reset();
        return false;
    }
    const SqliteError error = last_error(sqlite3_db_handle(statement_.get()));
    reset();
    throw error;
}

std::int64_t Statement::integer(int column) const {
    return sqlite3_column_int64(statement_.get(), column);
}

double Statement::real(int column) const {
    return sqlite3_column_double(statement_.get(), column);
}

std::string Statement::text(int column) const {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
    if (!bytes) return {};
    return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

std::string_view Statement::blob(int column) const {
    const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_.get(), column));
    if (!bytes) return {};
    return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

int Statement::parameters() const {
    return sqlite3_bind_parameter_count(statement_.get());
}

void Statement::reset() noexcept {
    sqlite3_reset(statement_.get());
}

void Statement::bind_integer(int position, std::int64_t value) {
    const int result = sqlite3_bind_int64(statement_.get(), position, value);
    MUSTER_CHECK(result == SQLITE_OK, "the statement has this parameter");
}

void Statement::bind_text(int position, std::string_view value) {
    // A null pointer would bind NULL.
    const char* bytes = value.data() ? value.data() : "";
    if (sqlite3_bind_text64(statement_.get(), position, bytes, value.size(), SQLITE_STATIC, SQLITE_UTF8) != SQLITE_OK)
        throw last_error(sqlite3_db_handle(statement_.get()));
}

void Statement::bind_blob(int position, std::string_view value) {
    const char* bytes = value.data() ? value.data() : "";
    if (sqlite3_bind_blob64(statement_.get(), position, bytes, value.size(), SQLITE_STATIC) != SQLITE_OK)
        throw last_error(sqlite3_db_handle(statement_.get()));
}

void Statement::bind_null(int position) {
    const int result = sqlite3_bind_null(statement_.get(), position);
    MUSTER_CHECK(result == SQLITE_OK, "the statement has this parameter");
}

void Statement::finish() {
    while (step()) {
    }
}

void Database::Close::operator()(sqlite3* connection) const noexcept {
    sqlite3_close_v2(connection);
}

Database::Database(const std::string& path, Access access, const std::string& vfs) {
    // Nobody asks SQLite how much memory it uses, and counting it takes a lock for each piece.
    [[maybe_unused]] static const int uncounted = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    const int flags = (access == Access::read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE) |
                      SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    sqlite3* opened = nullptr;
    const int result = sqlite3_open_v2(path.c_str(), &opened, flags, vfs.empty() ? nullptr : vfs.c_str());
    connection_.reset(opened);
    if (!opened) throw SqliteError(SQLITE_NOMEM, 0, "out of memory");
    if (result != SQLITE_OK) throw last_error(opened);
}

Database Database::reader() const {
    sqlite3_vfs* vfs = nullptr;
    sqlite3_file_control(connection_.get(), "main", SQLITE_FCNTL_VFS_POINTER, static_cast<void*>(&vfs));
    return {sqlite3_db_filename(connection_.get(), "main"), Access::read_only, vfs ? vfs->zName : ""};
}

void Database::run(const std::string& sql) {
    if (sqlite3_exec(connection_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
        throw last_error(connection_.get());
}

Statement Database::prepare(std::string_view sql) {
    sqlite3_stmt* statement = nullptr;
    const int result = sqlite3_prepare_v3(connection_.get(), sql.data(), static_cast<int>(sql.size()),
                                          SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
    if (result != SQLITE_OK) throw last_error(connection_.get());
    return Statement(statement);
}

std::int64_t Database::integer(std::string_view sql) {
    Statement query = prepare(sql);
    return query.step() ? query.integer(0) : 0;
}

std::string Database::text(std::string_view sql) {
    Statement query = prepare(sql);
    return query.step() ? query.text(0) : std::string();
}

bool Database::in_transaction() const {
    return sqlite3_get_autocommit(connection_.get()) == 0;
}

bool Database::is_read_only() const {
    return sqlite3_db_readonly(connection_.get(), "main") != 0;
}

std::int64_t Database::changes() const {
    return sqlite3_changes64(connection_.get());
}

void Database::set_busy_timeout_ms(int milliseconds) {
    sqlite3_busy_timeout(connection_.get(), milliseconds);
}

void Database::close_without_checkpoint() {
    sqlite3_db_config(connection_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
}

}  // namespace muster

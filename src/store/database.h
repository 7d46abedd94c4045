// A thin, owning view of SQLite: connections, prepared statements, and its errors as exceptions.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace muster {

// What SQLite answered, in its words.
class SqliteError : public std::runtime_error {
public:
    SqliteError(int result, int system_error, const std::string& what)
        : std::runtime_error(what), code(result), system_errno(system_error) {}

    // The family that the code belongs to, such as SQLITE_IOERR for SQLITE_IOERR_FSYNC.
    int family() const { return code & 0xFF; }

    int code;          // SQLite's extended result code
    int system_errno;  // of the system call that failed, 0 when none did
};

// Of the connection's last call, which failed.
SqliteError last_error(sqlite3* connection);

// Bytes to bind that are no text.
struct Blob {
    std::string_view bytes;
};

// A prepared statement, used again and again. It must not outlive its Database. One thread at a time.
class Statement {
public:
    // Binds all parameters in order, runs to the end and is ready for the next run. For statements without rows.
    template <class... Values>
    void run(const Values&... values) {
        bind(values...);
        finish();
    }

    // Binds all parameters in order and starts afresh; step() then gives the rows. Texts are not copied: they must
    // live until the last step.
    template <class... Values>
    void bind(const Values&... values) {
        reset();
        int position = 0;
        (bind_at(++position, values), ...);
    }

    // The greatest number of a parameter.
    int parameters() const;
    // Binds one parameter, counted from 1, of a statement that was reset; for who knows their number only as it runs.
    template <class Value>
    void put(int position, const Value& value) {
        bind_at(position, value);
    }

    // True when a row stands ready. After the last row the statement is reset.
    bool step();

    // The columns of the row that stands ready, counted from 0.
    std::int64_t integer(int column) const;
    double real(int column) const;
    std::string text(int column) const;
    // Not copied: gone with the next step.
    std::string_view blob(int column) const;

    void reset() noexcept;

private:
    friend class Database;

    struct Finalize {
        void operator()(sqlite3_stmt* statement) const noexcept;
    };

    explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}

    void bind_at(int position, std::integral auto value) { bind_integer(position, static_cast<std::int64_t>(value)); }
    void bind_at(int position, std::string_view value) { bind_text(position, value); }
    void bind_at(int position, Blob value) { bind_blob(position, value.bytes); }
    void bind_at(int position, const std::optional<std::int64_t>& value) {
        if (value) {
            bind_integer(position, *value);
        } else {
            bind_null(position);
        }
    }
    void bind_integer(int position, std::int64_t value);
    void bind_text(int position, std::string_view value);
    void bind_blob(int position, std::string_view value);
    void bind_null(int position);
    void finish();

    std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

// A connection. One thread at a time; it may be handed from one thread to another.
class Database {
public:
    enum class Access : std::uint8_t { read_only, read_write };

    // Opens a file that is there; never makes one. `vfs` names SQLite's way to the disk, empty for its own. Fails with
    // SqliteError, as every call below.
    Database(const std::string& path, Access access, const std::string& vfs = {});

    // Another connection to the same file, by the same way, that only reads.
    Database reader() const;

    // Runs one or more statements and drops their rows.
    void run(const std::string& sql);
    Statement prepare(std::string_view sql);

    // The first column of the first row: for pragmas and counts.
    std::int64_t integer(std::string_view sql);
    std::string text(std::string_view sql);

    bool in_transaction() const;
    bool is_read_only() const;
    // Rows that the last INSERT, UPDATE or DELETE touched.
    std::int64_t changes() const;

    // How long a call waits for another program's lock before it fails.
    void set_busy_timeout_ms(int milliseconds);
    // Leaves the write-ahead log alone at the close: for a disk that is no longer trusted.
    void close_without_checkpoint();

    sqlite3* handle() const { return connection_.get(); }

private:
    struct Close {
        void operator()(sqlite3* connection) const noexcept;
    };

    std::unique_ptr<sqlite3, Close> connection_;
};

}  // namespace muster

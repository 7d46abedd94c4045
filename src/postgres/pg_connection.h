// One connection to PostgreSQL. Every wait has a limit, so that an engine that hangs holds nobody for ever (N-9).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "postgres/pg_error.h"
#include "postgres/pg_hosts.h"
#include "postgres/pg_values.h"

struct pg_conn;
struct pg_result;

namespace muster {

// The rows of an answer, in text format.
class PgRows {
public:
    std::size_t size() const;
    bool empty() const { return size() == 0; }
    bool is_null(std::size_t row, int column) const;
    std::string_view text(std::size_t row, int column) const;
    // PgError when it is no number.
    std::int64_t integer(std::size_t row, int column) const;
    bool flag(std::size_t row, int column) const { return text(row, column) == "t"; }
    // Of a statement that changes rows: how many.
    std::size_t changed() const;

private:
    friend class PgConnection;
    explicit PgRows(pg_result* result);
    std::shared_ptr<pg_result> result_;
};

struct PgOptions {
    std::string url{};
    std::string password{};  // empty: libpq looks into PGPASSFILE and ~/.pgpass
    std::string application = "muster";
    std::chrono::milliseconds connect_limit{3'000};
    std::chrono::milliseconds statement_limit{5'000};
};

// One thread. After PgError::unreachable it is broken: make another.
class PgConnection {
public:
    // Connects to this one of the URL's hosts. Throws PgError.
    PgConnection(const PgOptions& options, const PgHost& host);
    ~PgConnection();
    PgConnection(const PgConnection&) = delete;
    PgConnection& operator=(const PgConnection&) = delete;

    // One statement and its answer. Throws PgError.
    PgRows run(const char* sql, const PgValues& values = PgValues());
    // Several statements without parameters, as one transaction unless they say otherwise. Nothing: the usual limit.
    void run_script(const std::string& sql, std::optional<std::chrono::milliseconds> allowed = {});

    // A statement that is used often, under a name.
    void prepare(const char* name, const char* sql);

    // Statements that are sent one after the other and answered together: send() as many as wanted, then answers().
    // After the first one that fails, the engine does none of the rest.
    // Returns its place among them.
    std::size_t send(const char* prepared, const PgValues& values = PgValues());
    void send_sql(const char* sql, const PgValues& values = PgValues());
    // Throws PgError for the first that failed, once all answers are here. `visit` sees the answers of those that did
    // not, by their places.
    void answers(const std::function<void(std::size_t place, const PgRows& rows)>& visit = {});

    // Looks, without waiting, whether the engine has ended the connection. Throws PgError if so.
    void check_open();

    // Rows of `query`, in binary; `visit` sees one row at a time. Throws PgError.
    void copy(const std::string& query, const std::function<void(class PgCopyRow&)>& visit);

    // What the engine has warned of since the last call, such as a commit whose standby did not answer.
    bool take_warning();

    std::int32_t backend_pid() const;
    int server_version() const;  // 150018

private:
    using Deadline = std::chrono::steady_clock::time_point;
    struct Finish {
        void operator()(pg_conn* connection) const;
    };

    void wait(Deadline deadline, bool for_writing);
    pg_result* next(Deadline deadline);
    [[noreturn]] void broke(const std::string& what);
    void enter_pipeline();
    Deadline deadline() const { return std::chrono::steady_clock::now() + statement_limit_; }

    std::unique_ptr<pg_conn, Finish> connection_;
    std::chrono::milliseconds statement_limit_;
    std::size_t unanswered_ = 0;
    bool in_pipeline_ = false;
    bool warned_ = false;
};

// Connects to one of the hosts, beginning with the one that took us last, which `next` counts. Each has its own limit,
// so that one that is gone does not hide the next. Its commits are durable once they are answered, whatever the role or
// the engine is set to. Throws the PgError of the last.
std::unique_ptr<PgConnection> connect_to_any(const PgOptions& options, const std::vector<PgHost>& hosts,
                                             std::size_t& next);

// One row of a binary COPY; fields are taken in order.
class PgCopyRow {
public:
    explicit PgCopyRow(std::string_view bytes) : rest_(bytes) {}

    // 0 and empty for NULL. PgError when the field is missing or of another size.
    std::int64_t integer();
    bool flag() { return integer() != 0; }
    std::string_view bytes();

private:
    std::string_view rest_;
};

}  // namespace muster

#include "postgres/pg_connection.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include <poll.h>

#include "postgres/libpq.h"

namespace muster {
namespace {

using std::chrono::milliseconds;

std::string one_line(const char* text) {
    std::string line = text ? text : "";
    while (!line.empty() && (line.back() == '\n' || line.back() == ' ')) line.pop_back();
    std::replace(line.begin(), line.end(), '\n', ' ');
    return line;
}

bool is_good(const PGresult* result) {
    switch (libpq().PQresultStatus(result)) {
        case PGRES_COMMAND_OK:
        case PGRES_TUPLES_OK:
        case PGRES_PIPELINE_SYNC:
        case PGRES_COPY_OUT:
        case PGRES_EMPTY_QUERY:
            return true;
        default:
            return false;
    }
}

PgError error_of(const PGresult* result) {
    const char* code = libpq().PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char* message = libpq().PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    return PgError::refused(code ? code : "", one_line(message ? message : libpq().PQresultErrorMessage(result)));
}

// 57P01 to 57P03: the engine ends, or its operator ended this connection. What was under way may have happened.
bool is_parting(const PgError& error) {
    return error.sqlstate == "57P01" || error.sqlstate == "57P02" || error.sqlstate == "57P03";
}

struct Clear {
    void operator()(PGresult* result) const { libpq().PQclear(result); }
};
using PgAnswer = std::unique_ptr<PGresult, Clear>;

}  // namespace

PgRows::PgRows(pg_result* result) : result_(result, Clear()) {}

std::size_t PgRows::size() const {
    return static_cast<std::size_t>(libpq().PQntuples(result_.get()));
}

bool PgRows::is_null(std::size_t row, int column) const {
    return libpq().PQgetisnull(result_.get(), static_cast<int>(row), column) == 1;
}

std::string_view PgRows::text(std::size_t row, int column) const {
    const int at = static_cast<int>(row);
    return {libpq().PQgetvalue(result_.get(), at, column),
            static_cast<std::size_t>(libpq().PQgetlength(result_.get(), at, column))};
}

std::int64_t PgRows::integer(std::size_t row, int column) const {
    const std::string_view digits = text(row, column);
    std::int64_t number = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (read.ec != std::errc() || read.ptr != digits.data() + digits.size())
        throw PgError::refused("", "a number was expected, not '" + std::string(digits) + "'");
    return number;
}

std::size_t PgRows::changed() const {
    const std::string_view digits = libpq().PQcmdTuples(result_.get());
    std::size_t count = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), count);
    return count;
}

void PgConnection::Finish::operator()(pg_conn* connection) const {
    libpq().PQfinish(connection);
}

PgConnection::PgConnection(const PgOptions& options, const PgHost& host) : statement_limit_(options.statement_limit) {
    std::vector<const char*> names{"dbname", "application_name", "client_encoding"};
    std::vector<const char*> values{options.url.c_str(), options.application.c_str(), "UTF8"};
    const auto add = [&](const char* name, const std::string& value) {
        if (value.empty()) return;
        names.push_back(name);
        values.push_back(value.c_str());
    };
    add("host", host.host);
    add("port", host.port);
    add("password", options.password);
    names.push_back(nullptr);
    values.push_back(nullptr);
    connection_.reset(libpq().PQconnectStartParams(names.data(), values.data(), 1));
    if (!connection_ || libpq().PQstatus(connection_.get()) == CONNECTION_BAD)
        throw PgError::unreachable(one_line(libpq().PQerrorMessage(connection_.get())));
    libpq().PQsetNoticeReceiver(
        connection_.get(),
        [](void* self, const PGresult* notice) {
            const char* severity = libpq().PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
            if (severity && std::strcmp(severity, "WARNING") == 0) static_cast<PgConnection*>(self)->warned_ = true;
        },
        this);
    const Deadline limit = std::chrono::steady_clock::now() + options.connect_limit;
    for (PostgresPollingStatusType state = PGRES_POLLING_WRITING; state != PGRES_POLLING_OK;
         state = libpq().PQconnectPoll(connection_.get())) {
        if (state == PGRES_POLLING_FAILED)
            throw PgError::unreachable(one_line(libpq().PQerrorMessage(connection_.get())));
        wait(limit, state == PGRES_POLLING_WRITING);
    }
    if (libpq().PQsetnonblocking(connection_.get(), 1) != 0) broke(libpq().PQerrorMessage(connection_.get()));
}

PgConnection::~PgConnection() = default;

void PgConnection::wait(Deadline deadline, bool for_writing) {
    for (;;) {
        const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now());
        if (left <= milliseconds::zero()) broke("no answer in time");
        pollfd socket{libpq().PQsocket(connection_.get()), static_cast<short>(for_writing ? POLLIN | POLLOUT : POLLIN),
                      0};
        if (socket.fd < 0) broke(libpq().PQerrorMessage(connection_.get()));
        const int ready = ::poll(&socket, 1, static_cast<int>(left.count()));
        if (ready > 0) return;
        if (ready < 0 && errno != EINTR) broke(std::strerror(errno));
    }
}

// The next answer; null between two statements.
pg_result* PgConnection::next(Deadline deadline) {
    for (;;) {
        const int unsent = libpq().PQflush(connection_.get());
        if (unsent < 0) broke(libpq().PQerrorMessage(connection_.get()));
        if (unsent == 0 && libpq().PQisBusy(connection_.get()) == 0) return libpq().PQgetResult(connection_.get());
        wait(deadline, unsent == 1);
        if (libpq().PQconsumeInput(connection_.get()) != 1) broke(libpq().PQerrorMessage(connection_.get()));
    }
}

void PgConnection::broke(const std::string& what) {
    const std::string why = one_line(what.c_str());
    connection_.reset();
    throw PgError::unreachable(why.empty() ? "the connection broke" : why);
}

PgRows PgConnection::run(const char* sql, const PgValues& values) {
    if (!connection_) throw PgError::unreachable("the connection broke");
    const auto pointers = values.pointers();
    const auto lengths = values.lengths();
    const auto formats = values.formats();
    if (libpq().PQsendQueryParams(connection_.get(), sql, static_cast<int>(values.size()), nullptr, pointers.data(),
                                  lengths.data(), formats.data(), 0) != 1)
        broke(libpq().PQerrorMessage(connection_.get()));
    const Deadline limit = deadline();
    PgAnswer answer;
    while (pg_result* one = next(limit)) answer.reset(one);
    if (!answer) broke(libpq().PQerrorMessage(connection_.get()));
    if (!is_good(answer.get())) {
        const PgError error = error_of(answer.get());
        if (is_parting(error) || libpq().PQstatus(connection_.get()) == CONNECTION_BAD) broke(error.what());
        throw error;
    }
    return PgRows(answer.release());
}

void PgConnection::run_script(const std::string& sql, std::optional<milliseconds> allowed) {
    if (!connection_) throw PgError::unreachable("the connection broke");
    if (libpq().PQsendQuery(connection_.get(), sql.c_str()) != 1) broke(libpq().PQerrorMessage(connection_.get()));
    const Deadline limit = std::chrono::steady_clock::now() + allowed.value_or(statement_limit_);
    std::unique_ptr<PgError> failed;
    while (pg_result* one = next(limit)) {
        const PgAnswer answer(one);
        if (!is_good(answer.get()) && !failed) failed = std::make_unique<PgError>(error_of(answer.get()));
    }
    if (!failed) return;
    if (is_parting(*failed)) broke(failed->what());
    throw PgError(*failed);
}

void PgConnection::prepare(const char* name, const char* sql) {
    if (!connection_) throw PgError::unreachable("the connection broke");
    if (libpq().PQsendPrepare(connection_.get(), name, sql, 0, nullptr) != 1)
        broke(libpq().PQerrorMessage(connection_.get()));
    const Deadline limit = deadline();
    PgAnswer answer;
    while (pg_result* one = next(limit)) answer.reset(one);
    if (!answer) broke(libpq().PQerrorMessage(connection_.get()));
    if (!is_good(answer.get())) throw error_of(answer.get());
}

void PgConnection::enter_pipeline() {
    if (!connection_) throw PgError::unreachable("the connection broke");
    if (in_pipeline_) return;
    if (libpq().PQenterPipelineMode(connection_.get()) != 1) broke(libpq().PQerrorMessage(connection_.get()));
    in_pipeline_ = true;
}

std::size_t PgConnection::send(const char* prepared, const PgValues& values) {
    enter_pipeline();
    const auto pointers = values.pointers();
    const auto lengths = values.lengths();
    const auto formats = values.formats();
    if (libpq().PQsendQueryPrepared(connection_.get(), prepared, static_cast<int>(values.size()), pointers.data(),
                                    lengths.data(), formats.data(), 0) != 1)
        broke(libpq().PQerrorMessage(connection_.get()));
    return unanswered_++;
}

void PgConnection::send_sql(const char* sql, const PgValues& values) {
    enter_pipeline();
    const auto pointers = values.pointers();
    const auto lengths = values.lengths();
    const auto formats = values.formats();
    if (libpq().PQsendQueryParams(connection_.get(), sql, static_cast<int>(values.size()), nullptr, pointers.data(),
                                  lengths.data(), formats.data(), 0) != 1)
        broke(libpq().PQerrorMessage(connection_.get()));
    ++unanswered_;
}

void PgConnection::answers(const std::function<void(std::size_t place, const PgRows& rows)>& visit) {
    enter_pipeline();
    if (libpq().PQpipelineSync(connection_.get()) != 1) broke(libpq().PQerrorMessage(connection_.get()));
    const Deadline limit = deadline();
    std::unique_ptr<PgError> failed;
    std::size_t place = 0;
    for (bool synced = false; !synced;) {
        PgAnswer answer(next(limit));
        if (!answer) {
            // Between two statements; twice in a row when the connection is gone.
            if (libpq().PQstatus(connection_.get()) == CONNECTION_BAD) broke(libpq().PQerrorMessage(connection_.get()));
            continue;
        }
        const ExecStatusType status = libpq().PQresultStatus(answer.get());
        synced = status == PGRES_PIPELINE_SYNC;
        if (!is_good(answer.get()) && status != PGRES_PIPELINE_ABORTED && !failed)
            failed = std::make_unique<PgError>(error_of(answer.get()));
        if (failed && (is_parting(*failed) || libpq().PQstatus(connection_.get()) == CONNECTION_BAD))
            broke(failed->what());
        if ((status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) && visit) visit(place, PgRows(answer.release()));
        ++place;
    }
    unanswered_ = 0;
    if (libpq().PQexitPipelineMode(connection_.get()) != 1) broke(libpq().PQerrorMessage(connection_.get()));
    in_pipeline_ = false;
    if (failed) throw PgError(*failed);
}

void PgConnection::check_open() {
    if (!connection_) throw PgError::unreachable("the connection broke");
    // Its last words come before its end, each reported once.
    constexpr int looks_max = 8;
    for (int look = 0; look < looks_max; ++look) {
        pollfd socket{libpq().PQsocket(connection_.get()), POLLIN, 0};
        if (::poll(&socket, 1, 0) <= 0) return;
        if (libpq().PQconsumeInput(connection_.get()) != 1 || libpq().PQstatus(connection_.get()) == CONNECTION_BAD)
            broke(libpq().PQerrorMessage(connection_.get()));
    }
}

void PgConnection::copy(const std::string& query, const std::function<void(PgCopyRow&)>& visit) {
    if (!connection_) throw PgError::unreachable("the connection broke");
    // The signature, the flags and the length of an extension that nobody uses; after it rows, then -1.
    constexpr std::size_t header_bytes = 19;
    const std::string sql = "COPY (" + query + ") TO STDOUT (FORMAT binary)";
    if (libpq().PQsendQuery(connection_.get(), sql.c_str()) != 1) broke(libpq().PQerrorMessage(connection_.get()));
    {
        const PgAnswer begun(next(deadline()));
        if (!begun) broke(libpq().PQerrorMessage(connection_.get()));
        if (!is_good(begun.get())) {
            const PgError error = error_of(begun.get());
            while (pg_result* one = next(deadline())) libpq().PQclear(one);
            throw error;
        }
    }
    bool is_first = true;
    for (;;) {
        char* piece = nullptr;
        const int size = libpq().PQgetCopyData(connection_.get(), &piece, 1);
        if (size == 0) {
            wait(deadline(), false);
            if (libpq().PQconsumeInput(connection_.get()) != 1) broke(libpq().PQerrorMessage(connection_.get()));
            continue;
        }
        if (size < 0) break;
        const std::unique_ptr<char, void (*)(void*)> owned(piece, libpq().PQfreemem);
        std::string_view bytes(piece, static_cast<std::size_t>(size));
        if (std::exchange(is_first, false)) bytes.remove_prefix(std::min(header_bytes, bytes.size()));
        // What is left is one row: the number of its fields, or -1 at the end.
        if (bytes.size() < 2 || static_cast<unsigned char>(bytes[0]) == 0xFF) continue;
        PgCopyRow row(bytes.substr(2));
        visit(row);
    }
    std::unique_ptr<PgError> failed;
    while (pg_result* one = next(deadline())) {
        const PgAnswer answer(one);
        if (!is_good(answer.get())) failed = std::make_unique<PgError>(error_of(answer.get()));
    }
    if (failed) throw PgError(*failed);
}

bool PgConnection::take_warning() {
    return std::exchange(warned_, false);
}

std::int32_t PgConnection::backend_pid() const {
    return connection_ ? libpq().PQbackendPID(connection_.get()) : 0;
}

int PgConnection::server_version() const {
    return connection_ ? libpq().PQserverVersion(connection_.get()) : 0;
}

namespace {

// The role, the database or the engine may be set otherwise while Muster runs; a session's own value stays (N-10).
constexpr const char* commits_are_durable =
    "SELECT set_config('synchronous_commit', CASE WHEN now_set = 'off' THEN 'on' ELSE now_set END, false)"
    " FROM current_setting('synchronous_commit') AS now_set";

}  // namespace

std::unique_ptr<PgConnection> connect_to_any(const PgOptions& options, const std::vector<PgHost>& hosts,
                                             std::size_t& next) {
    for (std::size_t tried = 0;; ++tried) {
        try {
            auto connection = std::make_unique<PgConnection>(options, hosts[next % hosts.size()]);
            connection->run(commits_are_durable);
            return connection;
        } catch (const PgError&) {
            ++next;
            if (tried + 1 == hosts.size()) throw;
        }
    }
}

std::string_view PgCopyRow::bytes() {
    const auto short_row = [] { return PgError::refused("", "a row of COPY is shorter than it says"); };
    if (rest_.size() < 4) throw short_row();
    std::uint32_t size = 0;
    for (std::size_t i = 0; i < 4; ++i) size = size << 8 | static_cast<unsigned char>(rest_[i]);
    rest_.remove_prefix(4);
    if (size == 0xFFFFFFFF) return {};
    if (rest_.size() < size) throw short_row();
    const std::string_view field = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return field;
}

std::int64_t PgCopyRow::integer() {
    const std::string_view field = bytes();
    if (field.empty()) return 0;
    if (field.size() != 1 && field.size() != 2 && field.size() != 4 && field.size() != 8)
        throw PgError::refused("", "a column of COPY is no integer");
    std::uint64_t number = static_cast<signed char>(field[0]) < 0 ? ~std::uint64_t{0} : 0;
    for (const char c : field) number = number << 8 | static_cast<unsigned char>(c);
    return static_cast<std::int64_t>(number);
}

}  // namespace muster

// `muster store copy`: all that a store holds, from a file into a database or back, compared row by row before it
// counts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "postgres/pg_connection.h"

namespace muster {

struct MovedTable {
    std::string name{};
    std::int64_t rows = 0;
};

struct Moved {
    std::vector<MovedTable> tables{};
    std::int64_t left_behind = 0;  // failed requests, which a database does not keep
};

// Into a database that holds no store yet. Nobody may have the file open. One transaction: what fails, or differs when
// it is read back, leaves the database as it was. A NUL in a text becomes U+FFFD, since PostgreSQL keeps none. Throws
// StoreError.
Moved move_to_database(const std::string& path, const PgOptions& database);

// Into a new file, as the database is at one moment; nodes may go on, and what they write later is not in it. Nothing
// stands at `path` before the copy is whole, compared and synced. Throws StoreError.
Moved move_to_file(const PgOptions& database, const std::string& path);

}  // namespace muster

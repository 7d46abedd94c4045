// The store beside a bare SQLite loop on the same disk: commits and rows a second.
//
//   store_bench [DIRECTORY]     where the files go; the temporary directory by default, which should be a real disk
#include <chrono>
#include <filesystem>
#include <string>

#include <fmt/core.h>

#include "base/system_clock.h"
#include "store/outcome_log.h"
#include "store/sample_records.h"
#include "store/sqlite_store.h"

using namespace muster;
using namespace std::chrono_literals;

namespace {

constexpr Duration measured = 2s;

struct Rate {
    double commits = 0;
    double rows = 0;
};

RecordBatch events(std::uint64_t number, std::int64_t count, UnixMs now) {
    RecordBatch batch{number, {}};
    const std::int64_t first = static_cast<std::int64_t>(number - 1) * count;
    for (std::int64_t i = 1; i <= count; ++i) batch.records.emplace_back(sample_event(first + i, now));
    return batch;
}

// A row for each event in a plain table, by one thread that does nothing else; the log is moved at the same length.
Rate bare_loop(const Clock& clock, const std::string& path, std::int64_t rows_per_commit) {
    {
        const StoreFile made({.path = path});
    }
    Database database(path, Database::Access::read_write);
    database.run(
        "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 1000;"
        "CREATE TABLE bare_events (id INTEGER PRIMARY KEY, time INTEGER, type TEXT, fields BLOB)");
    Statement begin = database.prepare("BEGIN IMMEDIATE");
    Statement commit = database.prepare("COMMIT");
    Statement insert = database.prepare("INSERT INTO bare_events (id, time, type, fields) VALUES (?1, ?2, ?3, ?4)");
    const Time began = clock.now();
    std::int64_t commits = 0;
    std::int64_t id = 0;
    while (clock.now() - began < measured) {
        begin.run();
        for (std::int64_t i = 0; i < rows_per_commit; ++i) {
            const EventRecord event = sample_event(++id, clock.wall());
            insert.run(event.id, event.time.value, event.type, Blob{event.fields});
        }
        commit.run();
        ++commits;
    }
    const double seconds = to_seconds(clock.now() - began);
    return {static_cast<double>(commits) / seconds, static_cast<double>(id) / seconds};
}

// `in_flight` batches wait for their answer at any time, and commits follow one another without a rest.
Rate through_store(const Clock& clock, const std::string& path, std::int64_t rows_per_batch, std::uint64_t in_flight) {
    OutcomeLog log;
    SqliteStore store(clock, {.file = {.path = path}, .queue_max = in_flight, .commits_apart = Duration::zero()});
    log.start(store);
    const Time began = clock.now();
    std::uint64_t number = 0;
    while (clock.now() - began < measured) {
        if (number >= in_flight) log.wait_for(number + 1 - in_flight);
        if (store.submit(events(number + 1, rows_per_batch, clock.wall()))) ++number;
    }
    log.wait_for(number);
    const double seconds = to_seconds(clock.now() - began);
    const StoreFigures figures = store.figures();
    return {static_cast<double>(figures.commits) / seconds, static_cast<double>(figures.records) / seconds};
}

void print(const char* what, std::int64_t rows, Rate rate) {
    fmt::print("{:<28} {:>4} rows a batch: {:>8.0f} commits/s {:>9.0f} rows/s\n", what, rows, rate.commits, rate.rows);
}

}  // namespace

int main(int argc, char** argv) {
    const SystemClock clock;
    const std::filesystem::path parent = argc > 1 ? argv[1] : std::filesystem::temp_directory_path();
    const auto directory = parent / "muster-store-bench";
    for (const std::int64_t rows : {1, 10, 100}) {
        const auto fresh = [&] {
            std::filesystem::remove_all(directory);
            std::filesystem::create_directory(directory);
            return (directory / "muster.db").string();
        };
        print("bare SQLite loop", rows, bare_loop(clock, fresh(), rows));
        print("store, 1 batch in flight", rows, through_store(clock, fresh(), rows, 1));
        print("store, 100 batches in flight", rows, through_store(clock, fresh(), rows, 100));
    }
    std::filesystem::remove_all(directory);
}

// Makes a store of a given size, for whoever measures how long a start from it takes.
//
//   store_fill FILE --servers N --matches N --running N
//
// Of the matches, the first --running run, spread over all servers; the others are over.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/system_clock.h"
#include "store/outcome_log.h"
#include "store/sample_records.h"
#include "store/sqlite_store.h"

namespace {

using namespace muster;

constexpr std::int32_t records_per_batch = 10'000;

struct FillOptions {
    std::string file;
    std::int32_t servers = 0;
    std::int32_t matches = 0;
    std::int32_t running = 0;
};

// Hands records over in batches, one in flight.
class Filler {
public:
    Filler(const Clock& clock, const std::string& file) : store_(clock, {.file = {.path = file}}) {
        (void)store_.recover();
        log_.start(store_);
    }
    void add(Record record) {
        batch_.records.push_back(std::move(record));
        if (batch_.records.size() >= records_per_batch) write();
    }
    void finish() {
        write();
        if (!store_.stop(std::chrono::minutes(5)) || log_.good_in_order() != number_)
            throw std::runtime_error("the store did not take everything");
    }

private:
    void write() {
        batch_.number = ++number_;
        if (!store_.submit(std::move(batch_)) || !log_.wait_for(number_))
            throw std::runtime_error("the store does not take a batch");
        batch_ = {};
    }

    OutcomeLog log_;
    SqliteStore store_;
    RecordBatch batch_;
    std::uint64_t number_ = 0;
};

void fill(const FillOptions& options) {
    const SystemClock clock;
    const UnixMs now = clock.wall();
    Filler filler(clock, options.file);
    filler.add(NumbersReserved{options.servers + 1, options.servers + 1, 1});
    for (std::int32_t id = 1; id <= options.servers; ++id) {
        ServerRecord server = sample_server(id);
        server.registered_at = now;
        filler.add(server);
    }
    for (std::int32_t lobby = 1; lobby <= options.matches; ++lobby) {
        const bool runs = lobby <= options.running;
        MatchRecord match = sample_match(lobby, runs ? MatchState::started : MatchState::ended, now);
        const ServerRecord server = sample_server(1 + lobby % options.servers);
        match.server = server.id;
        match.server_epoch = server.epoch;
        match.server_ip = server.ip.to_string();
        match.server_port = server.port;
        filler.add(match);
    }
    filler.finish();
}

std::optional<FillOptions> parse(int argc, char** argv) {
    if (argc != 8) return std::nullopt;
    FillOptions options{.file = argv[1]};
    for (int i = 2; i < argc; i += 2) {
        const std::string_view flag = argv[i];
        const auto value = static_cast<std::int32_t>(std::strtol(argv[i + 1], nullptr, 10));
        if (flag == "--servers") {
            options.servers = value;
        } else if (flag == "--matches") {
            options.matches = value;
        } else if (flag == "--running") {
            options.running = value;
        } else {
            return std::nullopt;
        }
    }
    return options.servers > 0 && options.running <= options.matches ? std::optional(options) : std::nullopt;
}

}  // namespace

int main(int argc, char** argv) try {
    const auto options = parse(argc, argv);
    if (!options) {
        std::fprintf(stderr, "usage: store_fill FILE --servers N --matches N --running N\n");
        return 64;
    }
    fill(*options);
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "store_fill: %s\n", error.what());
    return 1;
}

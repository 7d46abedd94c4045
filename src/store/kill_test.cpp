// Fault 1: kill -9 at any instant.
#include <sys/types.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <thread>

#include <doctest/doctest.h>
#include <unistd.h>

#include "base/random.h"
#include "base/system_clock.h"
#include "store/sample_records.h"
#include "store/scratch_directory.h"
#include "store/sqlite_store.h"

using namespace muster;
using namespace std::chrono_literals;

namespace {

// Commits numbered batches for ever and writes each answered number to the pipe.
[[noreturn]] void commit_until_killed(const std::string& path, int pipe, std::uint64_t next) {
    const SystemClock clock;
    SqliteStore store(clock, {.file = {.path = path}, .queue_max = 32, .idle_after = 1ms});
    static_cast<void>(store.recover());
    store.start(
        [pipe](const BatchOutcome& outcome) {
            if (outcome.fault != StoreFault::none || write(pipe, &outcome.number, sizeof outcome.number) < 0) _exit(1);
        },
        [](const StoreError&) { _exit(1); });
    for (;;) {
        const auto id = static_cast<std::int32_t>(next);
        RecordBatch batch{next,
                          {sample_server(id), sample_match(id, MatchState::allocated, clock.wall()),
                           TokenUsed{LobbyId(id), AccountId(1)}, ClockRecord{id, 1}}};
        if (store.submit(std::move(batch))) {
            ++next;
        } else {
            std::this_thread::yield();
        }
    }
}

// The last number that came through the pipe, which is read to its end.
std::uint64_t last_answered(int pipe) {
    std::uint64_t last = 0;
    std::uint64_t number = 0;
    while (read(pipe, &number, sizeof number) == sizeof number) last = number;
    return last;
}

}  // namespace

TEST_CASE("fault 1: after kill -9 at any instant every answered batch is there, and the file checks clean") {
    const int kills = std::getenv("MUSTER_TEST_LONG") ? 100 : 30;
    const ScratchDirectory scratch;
    const std::string path = scratch.file("muster.db");
    const SystemClock clock;
    Random random(1);
    std::uint64_t durable = 0;
    std::uint64_t answered_total = 0;
    for (int kill_number = 1; kill_number <= kills; ++kill_number) {
        CAPTURE(kill_number);
        int ends[2];
        REQUIRE(pipe(ends) == 0);
        const pid_t child = fork();
        if (child == 0) {
            close(ends[0]);
            commit_until_killed(path, ends[1], durable + 1);
        }
        close(ends[1]);
        // From before the file is open to the middle of a busy stretch.
        std::uint64_t first = 0;
        if (kill_number % 3 != 0) REQUIRE(read(ends[0], &first, sizeof first) == sizeof first);
        std::this_thread::sleep_for(std::chrono::microseconds(random.below(30'000)));
        kill(child, SIGKILL);
        int status = 0;
        REQUIRE(waitpid(child, &status, 0) == child);
        REQUIRE(WIFSIGNALED(status));
        const std::uint64_t answered = std::max({first, last_answered(ends[0]), durable});
        close(ends[0]);

        SqliteStore store(clock, {.file = {.path = path}});
        const RecoveredState state = store.recover();
        const auto found = static_cast<std::uint64_t>(state.has_clock ? state.clock.elapsed_game_ms : 0);
        REQUIRE(found >= answered);
        REQUIRE(state.servers.size() == found);
        REQUIRE(state.matches.size() == found);
        REQUIRE(state.tokens_used.size() == found);
        Database reader(path, Database::Access::read_only);
        REQUIRE(reader.text("PRAGMA integrity_check") == "ok");
        answered_total += answered - durable;
        durable = found;
    }
    CHECK(answered_total > 0);
    MESSAGE(kills << " kills, " << answered_total << " answered batches, none lost");
}

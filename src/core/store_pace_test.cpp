#include "core/store_pace.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "base/random.h"
#include "base/virtual_clock.h"
#include "core/core_fixture.h"
#include "core/ledger.h"

using namespace muster;
using namespace muster::testing;
using namespace std::chrono_literals;

namespace {

// A store that takes all that waits, and answers after its sync and some time for each record.
struct Rounds {
    VirtualClock clock;
    StorePace pace;
    Duration sync = 2ms;
    Duration each = 10us;

    void round(std::size_t records) {
        pace.handed_over(clock.now(), true);
        clock.advance(sync + records * each);
        pace.answered(clock.now(), records);
    }
    double work_ms(std::size_t records) const { return to_milliseconds(pace.work_of(records)); }
};

}  // namespace

TEST_CASE("A-12: before the first round the pace says nothing, and after it that all was work") {
    Rounds rounds;
    CHECK(rounds.work_ms(1'000'000) == 0);
    rounds.round(100);
    CHECK(rounds.work_ms(1'000'000) == 0);  // it may not be whole yet
    rounds.round(100);
    CHECK(rounds.work_ms(100) == doctest::Approx(3));
    CHECK(to_milliseconds(rounds.pace.sync()) == doctest::Approx(0));
}

TEST_CASE("fault 5: a slow sync is not counted as work of its records, once rounds differ in size") {
    Rounds rounds;
    rounds.sync = 1s;
    Random random(3);
    for (int i = 0; i < 100; ++i) rounds.round(static_cast<std::size_t>(random.between(100, 5'000)));
    CHECK(rounds.work_ms(1'000) == doctest::Approx(10).epsilon(0.05));
    CHECK(to_milliseconds(rounds.pace.sync()) == doctest::Approx(1'000).epsilon(0.01));
    // While all are of one size the last line counts.
    for (int i = 0; i < 1'000; ++i) rounds.round(1'000);
    CHECK(rounds.work_ms(1'000) == doctest::Approx(10).epsilon(0.05));
}

TEST_CASE("A-12: the pace follows a disk that becomes slower within some tens of rounds") {
    Rounds rounds;
    Random random(3);
    const auto some = [&](int count) {
        for (int i = 0; i < count; ++i) rounds.round(static_cast<std::size_t>(random.between(10, 200)));
    };
    some(1'000);
    CHECK(rounds.work_ms(100) == doctest::Approx(1).epsilon(0.05));
    rounds.each = 100us;
    some(150);
    CHECK(rounds.work_ms(100) == doctest::Approx(10).epsilon(0.2));
}

namespace {

constexpr std::size_t accounts = 127;  // of a list

// Requests at a steady rate, each of which writes `records` when it is let in; a store that takes `each` for a record.
struct Overload {
    VirtualClock clock;
    KeptLines lines;
    Log log{clock, lines};
    TurnedStore store;
    Ledger ledger{store, log};
    Duration sync = 2ms;
    Duration each = 5us;
    double lists_per_second = 0;  // besides
    std::vector<double> waits_ms;
    std::uint64_t kept = 0;
    std::uint64_t refused = 0;
    std::uint64_t lists_kept = 0;
    std::uint64_t lists_refused = 0;

    void list() {
        if (ledger.half_loaded() || ledger.congested()) return static_cast<void>(++lists_refused);
        ledger.write_promised(PlayersRecord{LobbyId(2), "flood", std::vector(accounts, AccountId(1))},
                              [this](Kept fate) { lists_kept += fate == Kept::durable ? 1 : 0; });
    }

    void run(double per_second, Duration length) {
        constexpr Duration pass = 500us;
        constexpr int records = 10;
        store.room = 8'192;  // as the real one's
        double due = 0;
        double lists_due = 0;
        Time round_ends = clock.now();
        std::size_t in_round = 0;
        const Time end = clock.now() + length;
        while (clock.now() < end) {
            clock.advance(pass);
            for (lists_due += lists_per_second * to_seconds(pass); lists_due >= 1; --lists_due) list();
            for (due += per_second * to_seconds(pass); due >= 1; --due) {
                if (ledger.overloaded() || ledger.congested()) {
                    ++refused;
                    continue;
                }
                for (int i = 1; i < records; ++i) ledger.write(MatchForgotten{LobbyId(1)});
                ledger.write_promised(MatchForgotten{LobbyId(1)}, [this, asked = clock.now()](Kept fate) {
                    if (fate != Kept::durable) return;
                    ++kept;
                    waits_ms.push_back(to_milliseconds(clock.now() - asked));
                });
            }
            if (in_round > 0 && clock.now() >= round_ends) {
                for (; in_round > 0; --in_round) ledger.outcome(clock.now(), store.answer_next());
                store.durable.clear();
            }
            ledger.end_of_pass(clock.now());
            if (in_round == 0 && !store.waiting.empty()) {
                in_round = store.waiting.size();
                std::size_t waiting = 0;
                for (const RecordBatch& batch : store.waiting) {
                    for (const Record& record : batch.records)
                        waiting += std::holds_alternative<PlayersRecord>(record) ? accounts + 1 : 1;
                }
                round_ends = clock.now() + sync + waiting * each;
            }
        }
    }
    double p99_ms() {
        std::sort(waits_ms.begin(), waits_ms.end());
        return waits_ms[waits_ms.size() * 99 / 100];
    }
};

}  // namespace

TEST_CASE("fault 66: a flood of long lists of players is refused before requests are, and nobody waits long for it") {
    Overload overload;
    overload.run(5'000, 2s);
    overload.refused = 0;
    overload.waits_ms.clear();
    // 127 accounts in each take 640 us: about 1,500 a second would fill the store's time.
    overload.lists_per_second = 5'300;
    overload.run(5'000, 10s);
    MESSAGE(overload.p99_ms() << " ms, " << overload.lists_kept << " lists, " << overload.lists_refused << " refused, "
                              << overload.refused << " requests");
    CHECK(overload.refused < 500);  // 1 %: until the pace of the store is known
    CHECK(overload.p99_ms() < 100);
    CHECK(overload.lists_kept > 5'000);
    CHECK(overload.lists_refused > 10'000);
}

TEST_CASE("fault 66: at twice and five times what the store can take, it is kept busy and nobody waits long") {
    // 50 us of work a request and a sync of 2 ms: about 19,000 a second when nobody is refused.
    constexpr double capacity = 19'000;
    for (const double times : {0.8, 2.0, 5.0}) {
        CAPTURE(times);
        Overload overload;
        overload.run(0.5 * capacity, 2s);  // a daemon has seen some rounds before
        overload.kept = overload.refused = 0;
        overload.waits_ms.clear();
        overload.run(times * capacity, 10s);
        const double goodput = static_cast<double>(overload.kept) / 10;
        MESSAGE(goodput << " a second, p99 " << overload.p99_ms() << " ms");
        if (times < 1) {
            CHECK(overload.refused == 0);
            CHECK(goodput > 0.99 * times * capacity);
        } else {
            CHECK(goodput > 0.9 * capacity);
            CHECK(overload.p99_ms() < 100);
        }
    }
}

TEST_CASE("fault 5, A-12: a disk that takes a second to sync still takes a thousand matches with each") {
    Overload overload;
    overload.sync = 1s;
    overload.run(1'000, 300s);
    const double taken = static_cast<double>(overload.kept);
    MESSAGE((taken / 300) << " a second, " << overload.refused << " refused");
    CHECK(taken > 0.9 * 1'000 * 297);
}

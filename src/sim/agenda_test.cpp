#include "sim/agenda.h"

#include <vector>

#include <doctest/doctest.h>

using namespace muster;
using namespace muster::sim;
using namespace std::chrono_literals;

TEST_CASE("the agenda lets things happen in the order of time, and of making when the time is the same") {
    VirtualClock clock;
    Agenda agenda(clock);
    const Time start = clock.now();
    std::vector<int> happened;
    agenda.in(2s, [&] { happened.push_back(3); });
    agenda.in(1s, [&] { happened.push_back(1); });
    agenda.in(1s, [&] { happened.push_back(2); });
    agenda.in(5s, [&] { happened.push_back(9); });

    while (agenda.step(start + 4s)) {
    }
    CHECK(happened == std::vector{1, 2, 3});
    CHECK(clock.now() == start + 4s);
    CHECK(agenda.size() == 1);
}

TEST_CASE("what an entry of the agenda makes for the same moment happens in that moment, after the others") {
    VirtualClock clock;
    Agenda agenda(clock);
    const Time start = clock.now();
    std::vector<int> happened;
    agenda.in(1s, [&] {
        happened.push_back(1);
        agenda.in(0s, [&] { happened.push_back(3); });
        agenda.at(start, [&] { happened.push_back(4); });
    });
    agenda.in(1s, [&] { happened.push_back(2); });
    while (agenda.step(start + 1s)) {
    }
    CHECK(happened == std::vector{1, 2, 3, 4});
}

TEST_CASE("the agenda's alarm comes when it was set last, among the entries of its moment in the order of setting") {
    VirtualClock clock;
    Agenda agenda(clock);
    const Time start = clock.now();
    std::vector<int> happened;
    agenda.on_alarm([&] { happened.push_back(0); });
    agenda.set_alarm(start + 1s);
    agenda.in(2s, [&] { happened.push_back(1); });
    agenda.set_alarm(start + 2s);
    agenda.in(2s, [&] { happened.push_back(2); });
    CHECK(agenda.size() == 3);

    while (agenda.step(start + 3s)) {
    }
    CHECK(happened == std::vector{1, 0, 2});
    CHECK(clock.now() == start + 3s);
    CHECK(agenda.size() == 0);
}

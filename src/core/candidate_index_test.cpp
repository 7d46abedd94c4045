#include "core/candidate_index.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <vector>

#include <doctest/doctest.h>

#include "base/random.h"

using namespace muster;

namespace {

// The rule as the specification states it: look at everybody, take the best.
struct PlainChoice {
    struct Entry {
        bool can_take = false;
        double score = 0;
        std::int32_t load = 0;
        int chosen = 0;  // the step it was chosen in; 0 is never
        CandidateIndex::Place place = 0;

        // Among servers by ascending id, so that nothing is left to decide when all else is equal.
        bool better_than(const Entry& other) const {
            if (score != other.score) return score > other.score;
            if (load != other.load) return load < other.load;
            return chosen < other.chosen;
        }
    };
    std::map<ServerId, Entry> servers;

    std::optional<ServerId> best(const std::vector<ServerId>& except) const {
        std::optional<ServerId> found;
        for (const auto& [id, entry] : servers) {
            if (!entry.can_take || std::find(except.begin(), except.end(), id) != except.end()) continue;
            if (!found) {
                found = id;
                continue;
            }
            if (entry.better_than(servers.at(*found))) found = id;
        }
        return found;
    }
};

// The plain rule, asked again and again with those it has named left out.
bool same_choice(const Choice& told, const PlainChoice& plain, std::vector<ServerId> except) {
    for (const Candidate& one : told.best) {
        if (plain.best(except) != one.server) return false;
        except.push_back(one.server);
    }
    return told.best.size() == Choice::shown_max || !plain.best(except);
}

}  // namespace

TEST_CASE("A-4: the score is 100 less 50 of load, 20 of CPU and 10 of memory") {
    CHECK(candidate_score(0, 10, 0, 0) == 100.0);
    CHECK(candidate_score(10, 10, 100, 100) == 20.0);
    CHECK(candidate_score(5, 10, 50, 20) == doctest::Approx(100 - 25 - 10 - 2));
    CHECK(candidate_score(3, 10, 45.2F, 62.8F) == doctest::Approx(69.68).epsilon(1e-6));
}

TEST_CASE("A-4: the highest score wins, ties go to the smaller load, then by age of choice, then the smaller id") {
    CandidateIndex index;
    const auto nine = index.enter(ServerId(9));
    const auto four = index.enter(ServerId(4));
    const auto five = index.enter(ServerId(5));
    CHECK_FALSE(index.best());

    index.offer(nine, 80, 2);
    CHECK(index.best() == ServerId(9));
    index.offer(five, 80, 1);
    CHECK(index.best() == ServerId(5));
    index.offer(four, 80, 1);
    CHECK(index.best() == ServerId(4));
    index.offer(nine, 80.5, 7);
    CHECK(index.best() == ServerId(9));
    index.withdraw(nine);
    CHECK(index.best() == ServerId(4));

    index.choose(four);
    CHECK(index.best() == ServerId(5));  // never chosen comes first
    index.choose(five);
    CHECK(index.best() == ServerId(4));  // chosen longest ago
    index.withdraw(four);
    index.offer(four, 80, 1);
    CHECK(index.best() == ServerId(4));  // being away does not change that
    index.offer(five, 80, 0);
    CHECK(index.best() == ServerId(5));  // the smaller load goes before it
    index.leave(four);
    index.offer(five, 80, 1);
    index.offer(index.enter(ServerId(12)), 80, 1);
    CHECK(index.best() == ServerId(12));  // a newcomer does not inherit the place's past
}

TEST_CASE("A-13: a choice tells how many could be chosen, the best of them and who would have come next") {
    CandidateIndex index;
    CHECK(index.choice({}).best.empty());
    CHECK(index.choice({}).candidates == 0);
    for (int i = 1; i <= 5; ++i) index.offer(index.enter(ServerId(i)), 100 - i, i);
    const Choice all = index.choice({});
    CHECK(all.candidates == 5);
    REQUIRE(all.best.size() == 3);
    CHECK(all.best[0].server == ServerId(1));
    CHECK(all.best[1].server == ServerId(2));
    CHECK(all.best[2].server == ServerId(3));
    CHECK(all.best[2].score == 97);
    CHECK(all.best[2].load == 3);
    const Choice rest = index.choice(std::vector{ServerId(2), ServerId(1)});
    CHECK(rest.candidates == 3);
    CHECK(rest.best[0].server == ServerId(3));
    CHECK(index.best() == ServerId(1));
}

TEST_CASE("A-6: those already tried are passed over, and are candidates again afterwards") {
    CandidateIndex index;
    for (int i = 1; i <= 5; ++i) index.offer(index.enter(ServerId(i)), 100 - i, 0);
    const std::vector tried{ServerId(1), ServerId(2), ServerId(4)};
    CHECK(index.best_except(tried) == ServerId(3));
    CHECK(index.best() == ServerId(1));
    const std::vector all{ServerId(1), ServerId(2), ServerId(3), ServerId(4), ServerId(5)};
    CHECK_FALSE(index.best_except(all));
    CHECK(index.best() == ServerId(1));
    CHECK(index.offered_count() == 5);
}

TEST_CASE("A-4, invariant 11: over a million random steps the index agrees with the plain rule") {
    Random random(4);
    CandidateIndex index;
    PlainChoice plain;
    constexpr int steps = 1'000'000;
    constexpr std::size_t servers_max = 60;  // the plain rule looks at all of them, at each step
    std::int32_t next_id = 1;
    std::vector<ServerId> ids;
    for (int step = 0; step < steps; ++step) {
        const auto chance = random.below(100);
        if (ids.size() < 2 || (chance < 3 && ids.size() < servers_max)) {
            const ServerId id(next_id++);
            plain.servers[id].place = index.enter(id);
            ids.push_back(id);
        } else if (chance < 5) {
            const auto which = random.below(ids.size());
            index.leave(plain.servers.at(ids[which]).place);
            plain.servers.erase(ids[which]);
            ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(which));
        } else {
            auto& entry = plain.servers.at(ids[random.below(ids.size())]);
            if (chance < 20) {
                entry.can_take = false;
                index.withdraw(entry.place);
            } else {
                // Few distinct figures, so that ties are common.
                entry.can_take = true;
                entry.load = static_cast<std::int32_t>(random.below(4));
                entry.score = candidate_score(entry.load, 4, static_cast<float>(random.below(3)) * 25, 0);
                index.offer(entry.place, entry.score, entry.load);
            }
        }
        std::vector<ServerId> except;
        if (!ids.empty() && random.chance(0.3)) {
            for (std::uint64_t i = 0; i < random.below(4); ++i) except.push_back(ids[random.below(ids.size())]);
        }
        const auto best = index.best_except(except);
        if (best != plain.best(except)) FAIL("differs at step " << step);
        if (step % 16 == 0 && !same_choice(index.choice(except), plain, except)) FAIL("tells another at step " << step);
        if (best && random.chance(0.5)) {
            plain.servers.at(*best).chosen = step + 1;
            index.choose(plain.servers.at(*best).place);
        }
    }
    CHECK(index.size() == plain.servers.size());
}

TEST_CASE("A-12: equal servers' shares are within 10 % over 10,000 requests, whether matches stay or end") {
    struct Held {
        int count;                   // of servers
        std::size_t most;            // matches at once
        bool random_end;             // else the oldest ends first
        std::vector<int> servers{};  // one for each match, oldest first
    };
    constexpr int requests = 10'000;
    constexpr std::int32_t capacity = 1'000;
    Random random(12);
    // Matches that end by chance end unevenly by chance: a hundred of them on a server would not tell who is favoured.
    for (Held held : {Held{100, requests, false}, Held{100, 0, false}, Held{100, 7, false}, Held{100, 500, false},
                      Held{100, 7, true}, Held{10, 500, true}, Held{10, 5'000, true}}) {
        const int servers = held.count;
        CAPTURE(servers);
        CAPTURE(held.most);
        CAPTURE(held.random_end);
        CandidateIndex index;
        std::vector<CandidateIndex::Place> places;
        std::vector<std::int32_t> loads(static_cast<std::size_t>(servers), 0);
        std::vector<int> shares(static_cast<std::size_t>(servers), 0);
        const auto offer = [&](int server) {
            const auto at = static_cast<std::size_t>(server);
            index.offer(places[at], candidate_score(loads[at], capacity, 20, 20), loads[at]);
        };
        for (int server = 0; server < servers; ++server) {
            places.push_back(index.enter(ServerId(server + 1)));
            offer(server);
        }
        for (int request = 0; request < requests; ++request) {
            const int chosen = index.best()->value - 1;
            const auto at = static_cast<std::size_t>(chosen);
            index.choose(places[at]);
            ++shares[at];
            ++loads[at];
            offer(chosen);
            held.servers.push_back(chosen);
            while (held.servers.size() > held.most) {
                const std::size_t which = held.random_end ? random.below(held.servers.size()) : 0;
                const int ended = held.servers[which];
                held.servers.erase(held.servers.begin() + static_cast<std::ptrdiff_t>(which));
                --loads[static_cast<std::size_t>(ended)];
                offer(ended);
            }
        }
        const auto [least, most] = std::minmax_element(shares.begin(), shares.end());
        CHECK(*least * servers >= requests * 9 / 10);
        CHECK(*most * servers <= requests * 11 / 10);
    }
}

TEST_CASE("A-4: choosing among 100,000 servers replays one path, not all") {
    CandidateIndex index;
    Random random(5);
    std::vector<CandidateIndex::Place> places;
    for (int i = 1; i <= 100'000; ++i) {
        places.push_back(index.enter(ServerId(i)));
        index.offer(places.back(), 50 + random.unit(), 0);
    }
    // A scan of all would make these two million steps take minutes.
    for (int i = 0; i < 1'000'000; ++i) {
        index.offer(places[random.below(places.size())], 50 + random.unit(), 0);
        if (!index.best()) FAIL("somebody is always the best");
    }
    CHECK(index.offered_count() == 100'000);
}

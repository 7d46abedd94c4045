// The servers of one region that can take a match, best first.
//
// A tournament tree: every inner node holds the better of its two children, so the best is at the root, a change
// replays one path, and nothing ever scans. Exact: the order is A-4's, ties included.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <boost/container/static_vector.hpp>

#include "base/ids.h"

namespace muster {

// What a choice depends on: the higher score wins, then the smaller load, then the server chosen longest ago,
// then the smaller id.
struct Candidate {
    double score = 0;
    std::int32_t load = 0;
    ServerId server;
    std::uint64_t chosen = 0;  // the number of the latest choice that fell on it; 0: none did

    bool better_than(const Candidate& other) const {
        if (score != other.score) return score > other.score;
        if (load != other.load) return load < other.load;
        if (chosen != other.chosen) return chosen < other.chosen;
        return server < other.server;
    }
};

// Why a server was chosen: what stood to choose from in that moment.
struct Choice {
    static constexpr std::size_t shown_max = 3;

    std::size_t candidates = 0;                                  // servers that could have taken the match
    boost::container::static_vector<Candidate, shown_max> best;  // the chosen one, then those that would have come next
};

// A-4's formula. `max_matches` is at least 1; the percentages are judged numbers in 0–100.
double candidate_score(std::int32_t load, std::int32_t max_matches, float cpu_percent, float memory_percent);

class CandidateIndex {
public:
    // A server's place in the index, kept from enter() to leave().
    using Place = std::uint32_t;

    // Gives a server a place; it is no candidate yet.
    Place enter(ServerId server);
    // Gives the place back.
    void leave(Place place);

    // The server can take a match, with this score and load.
    void offer(Place place, double score, std::int32_t load);
    // The server cannot take a match now.
    void withdraw(Place place);
    bool offered(Place place) const { return leaves_[place].offered; }

    // The best candidate, or the best that is not in `except` (a handful at most).
    std::optional<ServerId> best() const;
    std::optional<ServerId> best_except(std::span<const ServerId> except);

    // What best_except() decides on: the first few it prefers, at most Choice::shown_max.
    Choice choice(std::span<const ServerId> except) const;

    // The choice fell on this server.
    void choose(Place place);

    // Servers that hold a place, and those of them that can take a match.
    std::size_t size() const { return leaves_.size() - free_.size(); }
    std::size_t offered_count() const { return offered_count_; }

private:
    struct Leaf {
        Candidate candidate;
        bool offered = false;
    };
    static constexpr std::uint32_t nobody = ~std::uint32_t{0};

    // Plays every match on the way from the leaf to the root again.
    void replay(Place place);
    void grow();
    std::uint32_t winner_of(std::uint32_t left, std::uint32_t right) const;
    std::uint32_t root() const { return winners_.empty() ? nobody : winners_[1]; }

    std::vector<Leaf> leaves_;
    std::vector<Place> free_;
    // winners_[1] is the root, children of i are 2i and 2i + 1; the leaves' own row starts at width_.
    std::vector<std::uint32_t> winners_;
    std::size_t width_ = 0;
    std::size_t offered_count_ = 0;
    std::uint64_t choices_ = 0;
};

}  // namespace muster

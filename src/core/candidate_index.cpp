#include "core/candidate_index.h"

#include <algorithm>

#include <boost/container/small_vector.hpp>

#include "base/check.h"
#include "base/planted.h"

namespace muster {

double candidate_score(std::int32_t load, std::int32_t max_matches, float cpu_percent, float memory_percent) {
    return 100.0 - 50.0 * static_cast<double>(load) / static_cast<double>(max_matches) -
           20.0 * static_cast<double>(cpu_percent) / 100.0 -
           (planted(Bug::score_without_memory) ? 0.0 : 10.0) * static_cast<double>(memory_percent) / 100.0;
}

CandidateIndex::Place CandidateIndex::enter(ServerId server) {
    Place place = 0;
    if (free_.empty()) {
        place = static_cast<Place>(leaves_.size());
        leaves_.emplace_back();
        if (leaves_.size() > width_) grow();
    } else {
        place = free_.back();
        free_.pop_back();
    }
    leaves_[place] = Leaf{.candidate = {.server = server}};
    return place;
}

void CandidateIndex::leave(Place place) {
    withdraw(place);
    free_.push_back(place);
}

void CandidateIndex::offer(Place place, double score, std::int32_t load) {
    Leaf& leaf = leaves_[place];
    // A report of the same load leaves the tree as it is: 45 instructions of a heartbeat.
    if (leaf.offered && leaf.candidate.score == score && leaf.candidate.load == load) return;
    if (!leaf.offered) ++offered_count_;
    leaf.offered = true;
    leaf.candidate.score = score;
    leaf.candidate.load = load;
    replay(place);
}

void CandidateIndex::withdraw(Place place) {
    Leaf& leaf = leaves_[place];
    if (!leaf.offered) return;
    --offered_count_;
    leaf.offered = false;
    replay(place);
}

std::optional<ServerId> CandidateIndex::best() const {
    if (root() == nobody) return std::nullopt;
    return leaves_[root()].candidate.server;
}

std::optional<ServerId> CandidateIndex::best_except(std::span<const ServerId> except) {
    // Those who may not win step aside, and come back once the winner is known: a few paths, never a scan.
    std::vector<std::uint32_t> aside;
    std::optional<ServerId> found;
    for (;;) {
        found = best();
        if (!found || std::find(except.begin(), except.end(), *found) == except.end()) break;
        const std::uint32_t place = root();
        aside.push_back(place);
        leaves_[place].offered = false;
        replay(place);
    }
    for (const std::uint32_t place : aside) {
        leaves_[place].offered = true;
        replay(place);
    }
    return found;
}

// Best first, without a change to the tree: whoever comes next lost to one of those before, so it is the winner of a
// subtree beside one of their paths.
Choice CandidateIndex::choice(std::span<const ServerId> except) const {
    Choice found;
    std::size_t passed_over = 0;
    boost::container::small_vector<std::size_t, 64> subtrees;  // three paths of twenty
    if (root() != nobody) subtrees.push_back(1);
    while (!subtrees.empty() && found.best.size() < Choice::shown_max) {
        const auto best =
            std::min_element(subtrees.begin(), subtrees.end(), [this](std::size_t one, std::size_t other) {
                return leaves_[winners_[one]].candidate.better_than(leaves_[winners_[other]].candidate);
            });
        std::size_t node = *best;
        subtrees.erase(best);
        const std::uint32_t winner = winners_[node];
        const Candidate& candidate = leaves_[winner].candidate;
        if (std::find(except.begin(), except.end(), candidate.server) == except.end()) {
            found.best.push_back(candidate);
        } else {
            ++passed_over;
        }
        while (node < width_) {
            const std::size_t left = 2 * node;
            const std::size_t loser = winners_[left] == winner ? left + 1 : left;
            if (winners_[loser] != nobody) subtrees.push_back(loser);
            node = loser == left ? left + 1 : left;
        }
    }
    found.candidates = offered_count_ - passed_over;
    return found;
}

void CandidateIndex::choose(Place place) {
    leaves_[place].candidate.chosen = ++choices_;
    replay(place);
}

void CandidateIndex::replay(Place place) {
    std::size_t node = width_ + place;
    winners_[node] = leaves_[place].offered ? place : nobody;
    while (node > 1) {
        node /= 2;
        const std::uint32_t winner = winner_of(winners_[2 * node], winners_[2 * node + 1]);
        // Above here nothing can change when neither the old nor the new winner is the leaf that moved.
        if (winner == winners_[node] && winner != place) return;
        winners_[node] = winner;
    }
}

void CandidateIndex::grow() {
    width_ = std::max<std::size_t>(2, width_ * 2);
    MUSTER_CHECK(width_ < nobody / 2, "places fit their number");
    winners_.assign(width_ * 2, nobody);
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
        if (leaves_[i].offered) winners_[width_ + i] = static_cast<std::uint32_t>(i);
    }
    for (std::size_t node = width_ - 1; node >= 1; --node)
        winners_[node] = winner_of(winners_[2 * node], winners_[2 * node + 1]);
}

std::uint32_t CandidateIndex::winner_of(std::uint32_t left, std::uint32_t right) const {
    if (left == nobody) return right;
    if (right == nobody) return left;
    return leaves_[left].candidate.better_than(leaves_[right].candidate) ? left : right;
}

}  // namespace muster

// What matchmakers may have of a room that is shared: requests that wait for their answer, lists of players.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include <boost/unordered/unordered_flat_map.hpp>

#include "base/check.h"
#include "base/text_hash.h"

namespace muster {

// One matchmaker that asks without end would fill all room, and lock out the others: with requests whose servers never
// acknowledge for as long as those take to fail. So one may begin only while it has fewer than `times` what is free.
// With 8 it gets eight ninths of the room alone, two that ask for all they can get have 8/17 each, and there is room
// for the first ones of whoever comes next.
//
// Game thread only.
class MatchmakerShares {
public:
    explicit MatchmakerShares(std::size_t times) : times_(times) {}

    // Whether one more may begin while there may be `most` of all. Who has none needs a free place only.
    bool has_room(std::string_view matchmaker, std::size_t most) const {
        const std::size_t free = most - std::min(all_, most);
        return count_of(matchmaker) < times_ * free;
    }
    void begin(const std::string& matchmaker) {
        ++all_;
        ++by_matchmaker_[matchmaker];
    }
    // Only for one that has begun.
    void end(const std::string& matchmaker) {
        const auto found = by_matchmaker_.find(matchmaker);
        MUSTER_CHECK(found != by_matchmaker_.end(), "what ends has begun");
        --all_;
        if (--found->second == 0) by_matchmaker_.erase(found);
    }

    std::size_t count() const { return all_; }
    std::size_t count_of(std::string_view matchmaker) const {
        const auto found = by_matchmaker_.find(matchmaker);
        return found == by_matchmaker_.end() ? 0 : found->second;
    }

private:
    const std::size_t times_;
    std::size_t all_ = 0;
    // A few dozen; those with none are left out.
    boost::unordered_flat_map<std::string, std::size_t, TextHash, std::equal_to<>> by_matchmaker_;
};

}  // namespace muster

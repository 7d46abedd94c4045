// The matchmakers' requests that wait for their answer: how many there may be, and of whom.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/check.h"

namespace muster {

// One matchmaker whose servers never acknowledge would fill all room, and lock out the others for as long as its
// requests take to fail. So one may begin only while it has fewer than eight times what is free: alone it gets eight
// ninths of the room, two that ask for all they can get have 8/17 each, and there is room for the first requests of
// whoever comes next.
//
// Game thread only.
class RequestsInFlight {
public:
    static constexpr std::size_t share = 8;

    // Whether one more may begin while there may be `most` of all. Who has none needs a free place only.
    bool has_room(std::string_view matchmaker, std::size_t most) const {
        const std::size_t free = most - std::min(all_, most);
        return count_of(matchmaker) < share * free;
    }
    void begin(const std::string& matchmaker) {
        ++all_;
        ++by_matchmaker_[matchmaker];
    }
    // Only for one that has begun.
    void end(const std::string& matchmaker) {
        const auto found = by_matchmaker_.find(matchmaker);
        MUSTER_CHECK(found != by_matchmaker_.end(), "a request that ends has begun");
        --all_;
        if (--found->second == 0) by_matchmaker_.erase(found);
    }

    std::size_t count() const { return all_; }
    std::size_t count_of(std::string_view matchmaker) const {
        const auto found = by_matchmaker_.find(matchmaker);
        return found == by_matchmaker_.end() ? 0 : found->second;
    }

private:
    std::size_t all_ = 0;
    std::map<std::string, std::size_t, std::less<>> by_matchmaker_;  // a few dozen; those with none are left out
};

}  // namespace muster

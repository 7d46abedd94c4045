// What was lost lately: servers that fell silent and did not come back, and the matches that fell through with them.
// Health judges by it, so that a lost fleet is still seen when nothing of it is left in the registry.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/time.h"
#include "runtime/events.h"

namespace muster {

// Game thread only. Listens to the events for as long as it lives.
class RecentLosses {
public:
    static constexpr std::chrono::minutes memory{15};
    // Lost servers that are remembered at once; further ones are not counted.
    static constexpr std::size_t servers_max = 100'000;

    // `had_servers`: an earlier run may have had some.
    RecentLosses(Events& events, bool had_servers);

    // How many servers of each region were removed for their silence within the memory and have not registered again.
    std::map<RegionId, std::uint64_t> servers(Time now) const;

    // Matches aborted within the memory because their server was lost, crashed, or lost them.
    struct Aborts {
        std::uint64_t count = 0;
        std::string_view reason;  // of most of them
    };
    Aborts aborts(Time now) const;

    // Whether a game server has registered in this run, or may have in an earlier one.
    bool had_servers() const { return had_servers_; }

private:
    // Aborts are counted by the time that they fell in.
    static constexpr std::chrono::seconds slice_length{15};
    struct Slice {
        Time begin{};
        std::uint64_t server_lost = 0;
        std::uint64_t lost_by_server = 0;
        std::uint64_t server_crashed = 0;
    };
    struct Server {
        RegionId region;
        Time at{};
    };

    void server_lost(Time now, const std::string& endpoint, RegionId region);
    Slice& slice(Time now);

    bool had_servers_;
    std::map<std::string, Server> servers_;  // by endpoint
    std::deque<Slice> slices_;               // oldest first
};

}  // namespace muster

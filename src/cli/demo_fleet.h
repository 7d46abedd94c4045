// A lively fleet for `muster demo`: game servers, matchmakers and players that know Muster only by its ports.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/time.h"

namespace muster {

// "127.0.0.1:11032" each.
struct DemoPorts {
    std::string servers;
    std::string matchmakers;
    std::string players;
};

// The config that the fleet plays with; the daemon is given the same.
struct DemoPace {
    Duration heartbeat_interval = std::chrono::seconds(2);
    Duration heartbeat_timeout = std::chrono::seconds(6);
    Duration ping_interval = std::chrono::seconds(5);
    Duration ping_timeout = std::chrono::seconds(15);
    Duration idle_after = std::chrono::seconds(15);
    Duration idle_kick_after = std::chrono::seconds(60);
    Duration resume_grace = std::chrono::seconds(10);
};

// Plays on a thread of its own from start() until it goes; then all leave properly.
class DemoFleet {
public:
    DemoFleet(const DemoPorts& ports, const DemoPace& pace, std::uint64_t seed);
    ~DemoFleet();
    DemoFleet(const DemoFleet&) = delete;
    DemoFleet& operator=(const DemoFleet&) = delete;

    void start();

private:
    class Play;
    std::unique_ptr<Play> play_;
};

}  // namespace muster

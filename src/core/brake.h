// The eviction brake: detects mass silence in a region, which is more likely a network fault (F-8, fault 29).
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <unordered_map>

#include "base/ids.h"
#include "base/time.h"

namespace muster {

struct BrakeConfig {
    double share = 0.15;                         // over this share of the region …
    std::size_t servers = 10;                    // … and at least so many servers …
    Duration window = std::chrono::seconds(30);  // … silent within this time
    Duration hold = std::chrono::seconds(90);    // are kept until so long after their last heartbeat
};

// One region's. Game thread only; running time.
class Brake {
public:
    explicit Brake(const BrakeConfig& config) : config_(config) {}
    void configure(const BrakeConfig& config) { config_ = config; }

    // A server became silent, in a region of `servers` registered ones. True when the brake is on or to be pulled now.
    bool silenced(Time now, ServerId server, std::size_t servers);
    // It gave a sign of life, or is gone.
    void heard(ServerId server) { recent_.erase(server); }

    bool on() const { return on_; }
    void pull() { on_ = true; }
    // One more, or one fewer, is kept by the brake. True when that was the last, and the brake is off again.
    void hold() { ++held_; }
    bool let_go();

private:
    struct Silence {
        Time since;
        ServerId server;
    };

    BrakeConfig config_;
    std::unordered_map<ServerId, Time> recent_;  // silent within the window, and since when
    std::deque<Silence> order_;                  // the same by age; those heard since are skipped
    std::size_t held_ = 0;
    bool on_ = false;
};

}  // namespace muster

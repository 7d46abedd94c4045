// The attackers' thread.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "attack.h"

namespace muster::storm {

// Its calls are for one thread; the attackers run on another.
class Raid {
public:
    explicit Raid(std::uint64_t seed);
    ~Raid();
    Raid(const Raid&) = delete;
    Raid& operator=(const Raid&) = delete;

    // Where the daemon is; ports of 0 while it is away.
    void aim(const Ports& ports);
    // Attackers may miss it: nobody waits for them.
    void show(SeenToken token);
    // These attackers instead of those before, whose sockets are reset. None is an answer, too.
    void attack(const std::vector<AttackKind>& kinds);
    // These besides those that are there.
    void join(const std::vector<AttackKind>& kinds);
    // So many times as slow as usual is the daemon now. Attackers may miss it.
    void slow_down(int slowness);
    // Something that no attacker may be told, since the last call; perhaps not before the next one.
    std::optional<std::string> objection();

private:
    std::vector<std::unique_ptr<Attack>> made(const std::vector<AttackKind>& kinds);
    void run();

    std::mutex mutex_;
    // Guarded by mutex_.
    Target target_;
    std::vector<std::unique_ptr<Attack>> attacks_;
    std::optional<std::string> objection_;
    bool ends_ = false;

    std::uint64_t seed_;
    std::uint32_t next_address_ = 0x7F00'0101;
    std::thread thread_;
};

}  // namespace muster::storm

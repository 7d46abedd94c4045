// What goes wrong, when, and to whom: faults by chance, at the rates of the scenario.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/random.h"
#include "base/virtual_clock.h"
#include "sim/court.h"
#include "sim/game_server_actor.h"
#include "sim/host.h"
#include "sim/matchmaker_actor.h"
#include "sim/stage.h"

namespace muster::sim {

// One thread. All it is given outlives it.
class Mischief {
public:
    struct Parts {
        Stage& stage;
        VirtualClock& clock;
        Host& host;
        Court& court;
        std::vector<std::unique_ptr<GameServerActor>>& servers;
        std::vector<std::unique_ptr<MatchmakerActor>>& matchmakers;
    };

    Mischief(const Parts& parts, Random random) : parts_(parts), random_(random) {}

    // From now on, until the stage is calm.
    void begin();

private:
    struct Kind {
        double per_minute;
        void (Mischief::*befall)();
    };

    static constexpr std::size_t kind_count = 22;
    std::array<Kind, kind_count> kinds() const;
    void next();
    LinkNumber any_link();
    GameServerActor& any_server() { return *parts_.servers[random_.below(parts_.servers.size())]; }
    MatchmakerActor& any_matchmaker() { return *parts_.matchmakers[random_.below(parts_.matchmakers.size())]; }

    void reset_link();
    void lose_link();
    void lose_one_way();
    void reboot_server();
    void send_server_off();
    void take_server_away();
    void take_matchmaker_away();
    void kill_muster();
    void end_muster();
    void stop_muster();
    void stop_muster_inside();
    void change_date();
    void jump_ahead();
    void pass_by();
    void stop_reading();
    void fill_disk();
    void fail_sync();
    void drain_by_operator();
    void abort_by_operator();
    void kick_by_operator();
    void remove_by_operator();
    void set_clock_by_operator();

    // Says nothing and hears nothing.
    class PasserBy final : public Peer {
        void frame(LinkNumber, Code, std::span<const std::byte>) override {}
        void link_down(LinkNumber) override {}
    };

    Parts parts_;
    Random random_;
    PasserBy passer_by_;
    bool date_is_ahead_ = false;
    std::uint64_t disk_filled_ = 0;
};

}  // namespace muster::sim

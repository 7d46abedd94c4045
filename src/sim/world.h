// One simulated world, from its beginning to its rest.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/virtual_clock.h"
#include "sim/agenda.h"
#include "sim/api_actor.h"
#include "sim/court.h"
#include "sim/game_server_actor.h"
#include "sim/host.h"
#include "sim/matchmaker_actor.h"
#include "sim/mischief.h"
#include "sim/network.h"
#include "sim/player_actor.h"
#include "sim/simulation.h"
#include "sim/stage.h"
#include "sim/trace.h"

namespace muster::sim {

// One thread, and one play each.
class World {
public:
    explicit World(const SimOptions& options);

    // Faults first, then the rest in which all must come right again (invariant 22).
    void play();
    SimReport report() const;

private:
    static Conditions conditions_for(const SimOptions& options);
    void make_actors();
    void plan();
    void run_until(Time end);
    void tell_progress();
    void calm_down();
    void silence_some();
    void reset_all();
    void watch_return();
    bool died_in_the_calm() const;
    bool unwritten() const;
    void judge_registered();
    void judge_players();
    bool clocks_are_right() const;
    void probe();
    void judge_probes();
    void judge_rest();
    void object(std::string rule, std::string what, LobbyId lobby = {}, ServerId server = {});
    // As tenths of the time of rest.
    Time in_rest(int tenths) const { return calm_at_ + stage_.conditions.rest * tenths / 10; }

    const SimOptions options_;
    VirtualClock clock_;
    Agenda agenda_;
    Random random_;
    Trace trace_;
    Stage stage_;
    Court court_;
    Network network_;
    Sabotage honest_;
    Host host_;
    std::vector<std::unique_ptr<GameServerActor>> servers_;
    std::vector<std::unique_ptr<MatchmakerActor>> matchmakers_;
    std::vector<std::unique_ptr<PlayerActor>> players_;
    Mischief mischief_;
    Time start_;
    Time calm_at_;
    std::uint64_t crashes_when_calm_ = 0;
    std::uint64_t steps_ = 0;  // of the agenda
    Time all_reset_at_{};
    Duration longest_return_{0};
    ApiActor api_;
};

}  // namespace muster::sim

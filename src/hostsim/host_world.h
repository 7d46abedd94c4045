// A few hosts with their agents, the games on them and one Muster, under virtual time, and everything that can happen
// to them by one seed (faults 91, 92 and 94).
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/seeded_entropy.h"
#include "base/virtual_clock.h"
#include "hostsim/game.h"
#include "hostsim/host_agent.h"
#include "hostsim/host_judge.h"
#include "hostsim/machine.h"
#include "hostsim/muster_model.h"
#include "hostsim/sabotage.h"

namespace muster::hostsim {

struct WorldOptions {
    std::uint64_t seed = 1;
    int hosts = 3;
    std::chrono::seconds mischief{600};
    std::chrono::seconds calm{400};  // longer than the pause of a crash loop
    Sabotage sabotage = Sabotage::none;
    GameHabits habits{};
};

class HostWorld final : private Ground {
public:
    explicit HostWorld(const WorldOptions& options);
    ~HostWorld() override;

    // Plays it to its end: mischief, calm, and at last the end of all processes. What the judge objects to, empty for
    // nothing.
    std::vector<std::string> run();

    // For those who want to know that something happened at all.
    struct Deeds {
        int agents_killed = 0;
        int agents_killed_at_work = 0;
        int offers = 0;
        int matches_over = 0;
        int exits = 0;
        int musters_away = 0;
        int records_damaged = 0;
    };
    const Deeds& deeds() const { return deeds_; }
    std::uint64_t judged() const { return judge_.looked_at(); }

private:
    struct Place {
        Machine machine;
        std::unique_ptr<HostAgent> agent{};
        std::vector<RunConfig> runs{};
        std::int32_t incarnation = 0;
        std::optional<Time> agent_back_at{};
        std::optional<Time> linked_at{};  // its network is gone until then
        std::optional<Time> disk_free_at{};
    };

    void started(const Machine& machine, std::int32_t pid, SdkKind sdk) override;
    void asked_to_stop(const Machine& machine, std::int32_t pid) override;
    void told(const Machine& machine, std::int32_t pid, LobbyId lobby) override;
    void killing(const Machine& machine, std::string_view life) override;

    void step(bool with_mischief);
    void turn(Place& place);
    void play_games(Place& place);
    void end_game(Place& place, std::int32_t pid, int code);
    void make_mischief();
    void mischief_at(Place& place);
    void start_agent(Place& place);
    void kill_agent(Place& place);
    void damage_records(Place& place);
    void offer_matches();
    void come_back(bool all);
    void look();
    void excuse_all(Place& place);
    // An outage, and whether it is one that Muster waits for.
    Duration outage(bool& is_long);
    static std::vector<RunConfig> first_runs();

    const WorldOptions options_;
    Random random_;
    SeededEntropy entropy_;
    VirtualClock clock_;
    MusterModel muster_;
    bool ending_ = false;
    std::optional<Time> muster_back_at_{};
    std::vector<std::unique_ptr<Place>> places_;
    std::map<GameKey, Game> games_;
    std::map<GameKey, bool> stopped_;  // the agent has asked it to end
    HostJudge judge_;
    Deeds deeds_;
};

}  // namespace muster::hostsim

// Judges the hosts of a simulation from outside: by what the machines run and what Muster holds, never by what the
// agents believe.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "hostsim/game.h"
#include "hostsim/host_agent.h"
#include "hostsim/machine.h"
#include "hostsim/muster_model.h"

namespace muster::hostsim {

using GameKey = std::pair<std::string, std::int32_t>;  // machine, pid

// One host as it stands at a moment.
struct HostView {
    const Machine& machine;
    const HostAgent* agent = nullptr;  // none: it is dead
    bool linked = true;
    std::map<std::string, std::int32_t> wanted{};  // processes, by run
};

class HostJudge {
public:
    // A process without an owner is gone so long after there is an agent.
    static constexpr Duration owner_time = std::chrono::seconds(5);
    // Muster holds no match of a process that does not play it for longer.
    static constexpr Duration stale_time = std::chrono::seconds(120);
    // Of what the loop of the simulation may add to any deadline.
    static constexpr Duration slack = std::chrono::seconds(3);

    explicit HostJudge(const std::map<GameKey, Game>& games) : games_(games) {}

    // Everything at a moment.
    void look(Time now, const std::vector<HostView>& hosts, const MusterModel& muster);
    // What happened.
    void match_over(const MatchOver& over, const Machine& machine);
    // The game that plays this match crashes.
    void crashing(LobbyId lobby) { crashed_.insert(lobby); }
    void stopping(const Machine& machine, const MachineProcess& process, const MusterModel& muster);
    // A plain program is told of a match.
    void told(const Machine& machine, const MachineProcess& process, LobbyId lobby);
    // `certain`: the agent saw a failure that it neither ordered nor may take for the end of a match.
    void exited(Time now, const Machine& machine, const MachineProcess& process, bool certain);
    void started(Time now, const Machine& machine, const MachineProcess& process);
    // From now on nothing is expected of that host's pauses: an operator, a reload or a new agent has changed them.
    void disturbed(const std::string& host);
    // The agent is killed, or another one begins: who has crashed waits no less, but as long as there is no agent.
    void agent_changed(const std::string& host);
    // The fate of this life is not the agent's: its record was damaged, or it was cut off for too long.
    void excuse(const std::string& life) { excused_.insert(life); }

    // Empty: nothing to object to.
    const std::vector<std::string>& objections() const { return objections_; }
    std::uint64_t looked_at() const { return looked_at_; }

private:
    // G-5, written down a second time.
    struct Pauses {
        int short_lives = 0;
        std::deque<Time> failures{};
        bool loop = false;

        // `forgiving`: the end of a crash loop forgets the failures before it.
        Duration failed(Time now, Duration ran, bool forgiving);
    };
    struct Pace {
        Pauses least{};  // by the failures that the agent certainly counts
        Pauses most{};   // by all that it might count
        Time started_at{};
        Time exited_at{};
        Duration pause_least{};
        Duration pause_most{};
        bool known = false;  // the last three are of the last exit, and nobody has meddled since
    };

    void object(Time now, const std::string& text);
    void look_at_ports(Time now, const HostView& host);
    void look_at_counts(Time now, const HostView& host);
    void look_at_shortage(Time now, const HostView& host);
    void look_at_owners(Time now, const HostView& host);
    void look_at_pauses(Time now, const HostView& host);
    void look_at_matches(Time now, const std::vector<HostView>& hosts, const MusterModel& muster);
    const Game* game(const Machine& machine, const MachineProcess& process) const;

    const std::map<GameKey, Game>& games_;
    std::vector<std::string> objections_;
    std::set<std::string> excused_;
    std::set<LobbyId> crashed_;
    std::map<GameKey, Time> unowned_since_;
    std::map<std::pair<std::string, std::string>, Pace> paces_;        // machine, process
    std::map<std::pair<std::string, std::string>, Time> short_since_;  // machine, run
    std::map<LobbyId, Time> stale_since_;
    Time last_look_{};
    std::uint64_t looked_at_ = 0;  // lives and matches, so that a judge without work is noticed
};

}  // namespace muster::hostsim

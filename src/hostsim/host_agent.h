// An agent of the simulation: the real supervisor, SDK sessions and records, with a model of the machine under them in
// place of the layer that does I/O. Destroying it is kill -9.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/adoption.h"
#include "agent/supervisor.h"
#include "agones/session.h"
#include "base/entropy.h"
#include "base/virtual_clock.h"
#include "gsdk/session.h"
#include "hostsim/game.h"
#include "hostsim/machine.h"
#include "hostsim/muster_model.h"
#include "hostsim/sabotage.h"

namespace muster::hostsim {

// Who plays the processes that the agent starts.
class Ground {
public:
    virtual ~Ground() = default;
    virtual void started(const Machine& machine, std::int32_t pid, SdkKind sdk) = 0;
    virtual void asked_to_stop(const Machine& machine, std::int32_t pid) = 0;
    virtual void told(const Machine& machine, std::int32_t pid, LobbyId lobby) = 0;
    // Before the processes of a life are killed.
    virtual void killing(const Machine& machine, std::string_view life) = 0;
};

struct HostAgentParts {
    Machine& machine;
    MusterModel& muster;
    Ground& ground;
    const VirtualClock& clock;
    Entropy& entropy;
};

class HostAgent {
public:
    static constexpr PortRange ports{7000, 7019};

    HostAgent(const HostAgentParts& parts, std::vector<RunConfig> runs, std::int32_t incarnation, Sabotage sabotage);

    // Adopts what earlier agents left. Once, before the first turn.
    void begin();
    void turn();
    // It is killed in the middle of what it does, after so many orders from now.
    void die_after(int orders) { orders_left_ = orders; }
    void live_on() { orders_left_.reset(); }
    bool dead() const { return orders_left_ && *orders_left_ <= 0; }
    // The host's network.
    void set_linked(bool linked);

    void offered(const Endpoint& at, LobbyId lobby);
    void aborted(const Endpoint& at, LobbyId lobby);
    void reload(std::vector<RunConfig> runs);
    void scale(const std::string& run, std::int32_t count);
    void restart(const std::string& process) { (void)supervisor_.restart(moment(), process); }
    void end_all(bool at_once) { supervisor_.end_all(moment(), at_once); }

    GameSdk sdk_of(std::int32_t pid);
    bool owns(const MachineProcess& process) const;
    const Supervisor& supervisor() const { return supervisor_; }
    std::optional<Time> next_turn() const { return supervisor_.next_tick(); }
    std::size_t crash_loops_told() const { return crash_loops_told_; }
    const std::vector<RunConfig>& runs() const { return runs_; }

private:
    struct Held {
        std::int32_t pid = 0;
        std::string life{};
    };
    struct Sdk {
        std::optional<agones::Session> agones{};
        std::optional<gsdk::Session> gsdk{};
    };
    struct Client {
        Endpoint at{};
        std::optional<LobbyId> held{};
        std::deque<TellMatch> unsent{};
        std::optional<bool> draining{};  // unsent
        bool online = false;
        bool leaves = false;
        bool crashed = false;
    };

    Moment moment() const { return {parts_.clock.now(), parts_.clock.wall()}; }
    void adopt(const ProcessRecord& record);
    void collect();
    ExitStatus written_exit(const std::string& life) const;
    void hear_sdks();
    void look_for_ports();
    void obey();
    void do_order(const StartProcess& order);
    void do_order(const StopProcess& order);
    void do_order(const KillProcess& order);
    void do_order(const JoinMuster& order);
    void do_order(const LeaveMuster& order);
    void do_order(const DrainAtMuster& order);
    void do_order(const AskMatches& order);
    void do_order(const OfferMatch& order);
    void do_order(const DropMatch& order);
    void do_order(const TellMatch& order);
    void do_order(const ProcessNews& news);
    // Speaks with Muster, if it is there.
    void flush();
    void flush(ProcessId process, Client& client);
    void write_record(const Process& process);
    Sdk new_sdk(const Process& process);
    ProcessId process_at(const Endpoint& at) const;
    void kill_life(std::string_view life);
    bool coin();

    const HostAgentParts parts_;
    std::vector<RunConfig> runs_;
    const std::int32_t incarnation_;
    const Sabotage sabotage_;
    Supervisor supervisor_;
    std::map<ProcessId, Held> held_;
    std::map<ProcessId, Sdk> sdks_;
    std::map<ProcessId, Client> clients_;
    std::vector<Client> leaving_;
    bool linked_ = true;
    std::optional<int> orders_left_{};
    std::size_t crash_loops_told_ = 0;
};

}  // namespace muster::hostsim

#include "hostsim/host_world.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include <fmt/format.h>

namespace muster::hostsim {

using namespace std::chrono_literals;

HostWorld::HostWorld(const WorldOptions& options)
    : options_(options), random_(options.seed), entropy_(options.seed ^ 0x5eed), judge_(games_) {
    for (int i = 0; i < options_.hosts; ++i) {
        places_.push_back(std::make_unique<Place>(Place{.machine = Machine(fmt::format("host-{}", i + 1))}));
        places_.back()->runs = first_runs();
        start_agent(*places_.back());
    }
}

HostWorld::~HostWorld() = default;

std::vector<RunConfig> HostWorld::first_runs() {
    std::vector<RunConfig> runs(3);
    const SdkKind sdks[] = {SdkKind::none, SdkKind::agones, SdkKind::gsdk};
    const char* names[] = {"plain", "agones", "gsdk"};
    for (std::size_t i = 0; i < runs.size(); ++i) {
        runs[i].name = names[i];
        runs[i].command = {"./server"};
        runs[i].sdk = sdks[i];
        runs[i].count = 2;
        runs[i].count_max = 3;
        runs[i].start_timeout = 30s;
        runs[i].stop_grace = 5s;
    }
    return runs;
}

std::vector<std::string> HostWorld::run() {
    const Time mischief_until = clock_.now() + options_.mischief;
    while (clock_.now() < mischief_until && judge_.objections().empty()) step(true);
    come_back(true);
    const Time calm_until = clock_.now() + options_.calm;
    while (clock_.now() < calm_until && judge_.objections().empty()) step(false);

    // At last everything is ended: gently, then not.
    ending_ = true;
    for (const auto& place : places_) {
        judge_.disturbed(place->machine.name());
        for (const auto& [pid, process] : place->machine.processes()) judge_.excuse(process.life);
        place->agent->end_all(false);
    }
    const Time gentle_until = clock_.now() + 10s;
    while (clock_.now() < gentle_until) step(false);
    for (const auto& place : places_) place->agent->end_all(true);
    const Time until = clock_.now() + 10s;
    while (clock_.now() < until) step(false);
    std::vector<std::string> objections = judge_.objections();
    for (const auto& place : places_)
        if (!place->machine.processes().empty())
            objections.push_back(fmt::format("{}: {} processes survive their end", place->machine.name(),
                                             place->machine.processes().size()));
    return objections;
}

void HostWorld::step(bool with_mischief) {
    clock_.advance(std::chrono::milliseconds(random_.between(20, 900)));
    if (with_mischief) make_mischief();
    come_back(false);
    for (const auto& place : places_) play_games(*place);
    offer_matches();
    for (const auto& place : places_) turn(*place);
    muster_.tick(clock_.now());
    look();
}

void HostWorld::turn(Place& place) {
    if (!place.agent) return;
    place.agent->turn();
    if (place.agent->dead()) kill_agent(place);
}

void HostWorld::look() {
    for (const MatchOver& over : muster_.take_over_matches()) {
        ++deeds_.matches_over;
        for (const auto& place : places_)
            if (place->machine.name() == over.at.host) judge_.match_over(over, place->machine);
    }
    std::vector<HostView> views;
    for (const auto& place : places_) {
        views.push_back({place->machine, place->agent.get(), !place->linked_at});
        for (const RunConfig& run : place->runs) {
            const auto set = place->machine.counts.find(run.name);
            views.back().wanted[run.name] = ending_ ? 0 : set == place->machine.counts.end() ? run.count : set->second;
        }
    }
    judge_.look(clock_.now(), views, muster_);
}

void HostWorld::play_games(Place& place) {
    std::vector<std::int32_t> pids;
    for (const auto& [pid, process] : place.machine.processes())
        if (process.leader == 0) pids.push_back(pid);
    for (const std::int32_t pid : pids) {
        const auto game = games_.find({place.machine.name(), pid});
        if (game == games_.end()) continue;
        const GameSdk sdk = place.agent ? place.agent->sdk_of(pid) : GameSdk{};
        const Game::Deed deed = game->second.act(clock_.now(), sdk);
        if (deed.bind) place.machine.bind(pid);
        if (deed.fork) place.machine.fork(pid);
        if (deed.exit) end_game(place, pid, *deed.exit);
    }
}

void HostWorld::end_game(Place& place, std::int32_t pid, int code) {
    const MachineProcess process = *place.machine.find(pid);
    const GameKey key{place.machine.name(), pid};
    ++deeds_.exits;

    const bool ordered = stopped_[key];
    const bool seen = place.agent && process.starter == place.incarnation;
    const bool had_match = games_.at(key).playing().has_value();
    if (had_match && code != 0) judge_.crashing(*games_.at(key).playing());
    const ExitStatus status = code == 0 ? ExitStatus{.code = 0} : ExitStatus{.signal = SIGABRT};
    judge_.exited(clock_.now(), place.machine, process, seen && !ordered && !had_match && code != 0);
    games_.erase(key);
    place.machine.end(pid, status);
}

void HostWorld::offer_matches() {
    std::vector<Endpoint> all;
    for (const auto& [at, server] : muster_.servers()) all.push_back(at);
    for (const Endpoint& at : all) {
        const auto place = std::find_if(places_.begin(), places_.end(),
                                        [&at](const auto& each) { return each->machine.name() == at.host; });
        HostAgent* agent = (*place)->agent.get();
        if (!agent || (*place)->linked_at) continue;
        if (random_.chance(0.04)) {
            if (const auto lobby = muster_.offer(clock_.now(), at)) {
                ++deeds_.offers;
                agent->offered(at, *lobby);
            }
        }
        if (random_.chance(0.001)) {
            if (const auto lobby = muster_.abort(at)) agent->aborted(at, *lobby);
        }
    }
}

void HostWorld::make_mischief() {
    if (muster_.up() && random_.chance(0.003)) {
        ++deeds_.musters_away;
        muster_.go_down();
        bool is_long = false;
        muster_back_at_ = clock_.now() + outage(is_long);
    }
    for (const auto& place : places_) {
        mischief_at(*place);
        turn(*place);
    }
}

void HostWorld::mischief_at(Place& place) {
    if (!place.agent) return;
    HostAgent& agent = *place.agent;
    if (random_.chance(0.006)) return kill_agent(place);
    if (random_.chance(0.006)) agent.die_after(static_cast<int>(random_.between(1, 12)));
    if (!place.linked_at && random_.chance(0.003)) {
        bool is_long = false;
        place.linked_at = clock_.now() + outage(is_long);
        if (is_long) excuse_all(place);
        agent.set_linked(false);
        muster_.link_lost(clock_.now(), place.machine.name());
    }
    if (!place.machine.disk_full && random_.chance(0.002)) {
        place.machine.disk_full = true;
        place.disk_free_at = clock_.now() + std::chrono::seconds(random_.between(5, 60));
    }
    // What is started, changed or played on a full disk is not written down.
    if (place.machine.disk_full) {
        excuse_all(place);
        judge_.disturbed(place.machine.name());
    }
    if (random_.chance(0.004)) {
        RunConfig& run = place.runs[random_.below(place.runs.size())];
        if (random_.chance(0.5)) run.count = static_cast<std::int32_t>(random_.between(0, run.count_max));
        if (random_.chance(0.3)) run.command = {"./server", std::to_string(random_.below(100))};
        judge_.disturbed(place.machine.name());
        agent.reload(place.runs);
    }
    if (random_.chance(0.004)) {
        const RunConfig& run = place.runs[random_.below(place.runs.size())];
        judge_.disturbed(place.machine.name());
        agent.scale(run.name, static_cast<std::int32_t>(random_.between(0, run.count_max)));
    }
    if (random_.chance(0.003)) {
        judge_.disturbed(place.machine.name());
        agent.restart(fmt::format("{}-1", place.runs[random_.below(place.runs.size())].name));
    }
}

Duration HostWorld::outage(bool& is_long) {
    is_long = random_.chance(0.25);
    if (is_long) return std::chrono::seconds(random_.between(30, 150));
    return std::chrono::milliseconds(random_.between(100, 20'000));
}

void HostWorld::kill_agent(Place& place) {
    ++deeds_.agents_killed;
    if (place.agent->dead()) ++deeds_.agents_killed_at_work;
    place.agent.reset();
    muster_.link_lost(clock_.now(), place.machine.name());
    judge_.agent_changed(place.machine.name());
    if (random_.chance(0.15)) damage_records(place);
    bool is_long = false;
    place.agent_back_at = clock_.now() + outage(is_long);
    if (is_long) excuse_all(place);
    // An agent that comes back while its network is gone adds to how long Muster waits.
    if (place.linked_at) excuse_all(place);
}

// Torn, or not there at all.
void HostWorld::damage_records(Place& place) {
    for (auto each = place.machine.records.begin(); each != place.machine.records.end();) {
        const bool hit = random_.chance(0.3);
        if (hit) {
            ++deeds_.records_damaged;
            judge_.disturbed(place.machine.name());
            for (const auto& [pid, process] : place.machine.processes())
                if (process.name == each->first) judge_.excuse(process.life);
        }
        if (hit && random_.chance(0.5)) {
            each = place.machine.records.erase(each);
            continue;
        }
        if (hit) each->second.resize(random_.below(each->second.size()));
        ++each;
    }
}

void HostWorld::excuse_all(Place& place) {
    for (const auto& [pid, process] : place.machine.processes()) judge_.excuse(process.life);
}

void HostWorld::start_agent(Place& place) {
    place.agent_back_at.reset();
    judge_.agent_changed(place.machine.name());
    place.agent = std::make_unique<HostAgent>(HostAgentParts{place.machine, muster_, *this, clock_, entropy_},
                                              place.runs, ++place.incarnation, options_.sabotage);
    place.agent->set_linked(!place.linked_at);
    place.agent->begin();
}

void HostWorld::come_back(bool all) {
    const auto due = [&](const std::optional<Time>& at) { return at && (all || *at <= clock_.now()); };
    if (due(muster_back_at_)) {
        muster_back_at_.reset();
        muster_.come_back(clock_.now());
    }
    for (const auto& place : places_) {
        if (due(place->disk_free_at)) {
            place->disk_free_at.reset();
            place->machine.disk_full = false;
        }
        if (due(place->linked_at)) {
            place->linked_at.reset();
            if (place->agent) place->agent->set_linked(true);
        }
        if (due(place->agent_back_at)) start_agent(*place);
        if (all && place->agent) place->agent->live_on();
    }
}

void HostWorld::started(const Machine& machine, std::int32_t pid, SdkKind sdk) {
    games_.insert_or_assign({machine.name(), pid}, Game(sdk, clock_.now(), options_.habits, random_));
    stopped_.erase({machine.name(), pid});
    judge_.started(clock_.now(), machine, *machine.find(pid));
    if (machine.disk_full) judge_.excuse(machine.find(pid)->life);
}

void HostWorld::asked_to_stop(const Machine& machine, std::int32_t pid) {
    const MachineProcess* process = machine.find(pid);
    const auto game = games_.find({machine.name(), pid});
    if (!process || game == games_.end()) return;
    judge_.stopping(machine, *process, muster_);
    stopped_[{machine.name(), pid}] = true;
    game->second.asked_to_stop(clock_.now());
}

void HostWorld::told(const Machine& machine, std::int32_t pid, LobbyId lobby) {
    const auto game = games_.find({machine.name(), pid});
    if (game == games_.end()) return;
    judge_.told(machine, *machine.find(pid), lobby);
    game->second.told(clock_.now(), lobby);
}

void HostWorld::killing(const Machine& machine, std::string_view life) {
    for (const auto& [pid, process] : machine.processes()) {
        if (process.life != life || process.leader != 0) continue;
        judge_.stopping(machine, process, muster_);
        judge_.exited(clock_.now(), machine, process, false);
        games_.erase({machine.name(), pid});
    }
}

}  // namespace muster::hostsim

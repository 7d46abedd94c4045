#include "hostsim/host_agent.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "base/uuid.h"

namespace muster::hostsim {

HostAgent::HostAgent(const HostAgentParts& parts, std::vector<RunConfig> runs, std::int32_t incarnation,
                     Sabotage sabotage)
    : parts_(parts),
      runs_(std::move(runs)),
      incarnation_(incarnation),
      sabotage_(sabotage),
      supervisor_(ports, parts.entropy) {}

void HostAgent::begin() {
    Machine& machine = parts_.machine;
    (void)machine.take_exits();  // of children of an agent that is dead
    supervisor_.configure(moment(), ports, runs_);
    for (const auto& [run, count] : machine.counts) (void)supervisor_.scale(moment(), run, count);
    std::vector<ProcessRecord> records;
    for (const auto& [name, text] : machine.records)
        if (auto record = parse_process_record(text)) records.push_back(std::move(*record));
    const Census census = take_census(std::move(records), machine.seen(), machine.boot());
    if (sabotage_ != Sabotage::ignores_unowned)
        for (const SeenProcess& each : census.unowned) kill_life(each.life);
    for (const ProcessRecord& record : census.ended) kill_life(record.life);
    for (const ProcessRecord& record : census.survivors) adopt(record);
    for (const ProcessRecord& record : census.ended)
        if (!supervisor_.bury(moment(), adopted_from(record, runs_, moment()), written_exit(record.life)))
            machine.records.erase(record.name);
    for (const ProcessRecord& record : census.resting)
        if (!supervisor_.rest(moment(), adopted_from(record, runs_, moment()))) machine.records.erase(record.name);
    supervisor_.configure(moment(), ports, runs_);
}

void HostAgent::adopt(const ProcessRecord& record) {
    Adopted adopted = adopted_from(record, runs_, moment());
    if (sabotage_ == Sabotage::forgets_matches) adopted.match.reset();
    const bool taken = sabotage_ != Sabotage::ends_survivors && supervisor_.adopt(moment(), std::move(adopted));
    const Process* process = taken ? supervisor_.find(record.name) : nullptr;
    if (!process) {
        kill_life(record.life);
        parts_.machine.records.erase(record.name);
        return;
    }
    held_[process->id] = {record.pid, record.life};
    Sdk sdk = new_sdk(*process);
    const Time now = parts_.clock.now();
    if (sdk.agones) sdk.agones = agones::Session::restored({}, now, parts_.clock.wall(), record.sdk_state);
    if (sdk.gsdk) sdk.gsdk = gsdk::Session::restored({}, now, record.sdk_state);
    const bool needs = record.sdk != SdkKind::none;
    if (needs && !sdk.agones && !sdk.gsdk)
        return supervisor_.heard(moment(), process->id, {SdkFact::Kind::unhealthy, {}, "its session was not saved"});
    sdks_[process->id] = std::move(sdk);
}

void HostAgent::turn() {
    collect();
    flush();
    hear_sdks();
    look_for_ports();
    supervisor_.tick(moment());
    obey();
    if (!dead()) flush();
}

void HostAgent::collect() {
    for (const MachineExit& exit : parts_.machine.take_exits()) {
        const auto found =
            std::find_if(held_.begin(), held_.end(), [&exit](const auto& each) { return each.second.pid == exit.pid; });
        if (found == held_.end()) continue;
        found->second.pid = 0;
        if (sabotage_ != Sabotage::leaves_children) kill_life(found->second.life);
        // Its own keeper tells the agent; that of an earlier one has written it down.
        const ExitStatus status = exit.starter == incarnation_ ? exit.status : written_exit(exit.life);
        supervisor_.exited(moment(), found->first, status);
    }
}

ExitStatus HostAgent::written_exit(const std::string& life) const {
    if (sabotage_ == Sabotage::thinks_well_of_exits) return {.code = 0};
    const auto written = parts_.machine.exits_written.find(life);
    return written == parts_.machine.exits_written.end() ? ExitStatus{} : written->second;
}

void HostAgent::hear_sdks() {
    const Time now = parts_.clock.now();
    for (auto& [process, sdk] : sdks_) {
        std::vector<SdkFact> facts;
        if (sdk.agones) {
            sdk.agones->tick(now);
            facts = sdk.agones->take_facts();
            (void)sdk.agones->take_changes();
        }
        if (sdk.gsdk) {
            sdk.gsdk->tick(now);
            facts = sdk.gsdk->take_facts();
        }
        for (const SdkFact& fact : facts) supervisor_.heard(moment(), process, fact);
    }
}

void HostAgent::look_for_ports() {
    for (const Process* each : supervisor_.processes()) {
        const MachineProcess* process = each->pid ? parts_.machine.find(*each->pid) : nullptr;
        if (process && process->bound && each->state == ProcessState::starting)
            supervisor_.port_bound(moment(), each->id);
    }
}

void HostAgent::obey() {
    for (std::vector<Order> orders = supervisor_.take_orders(); !orders.empty(); orders = supervisor_.take_orders()) {
        for (const ProcessId id : to_be_written_first(orders))
            if (const Process* process = supervisor_.find(id)) write_record(*process);
        for (const Order& order : orders) {
            if (orders_left_ && --*orders_left_ <= 0) return;
            std::visit([this](const auto& each) { do_order(each); }, order);
        }
    }
}

void HostAgent::do_order(const StartProcess& order) {
    const Process* process = supervisor_.find(order.process);
    if (!process) return;
    if (sabotage_ == Sabotage::never_starts_again && process->restarts > 0) return;
    Machine& machine = parts_.machine;
    const std::uint16_t port = sabotage_ == Sabotage::one_port_for_all ? ports.first : order.port;
    if (sabotage_ != Sabotage::one_port_for_all && !machine.port_is_free(port))
        return supervisor_.port_taken(moment(), order.process);
    MachineProcess as{
        .life = order.life, .name = process->name, .run = order.run->name, .port = port, .starter = incarnation_};
    if (sabotage_ == Sabotage::starts_twice) machine.spawn(as);
    const std::int32_t pid = machine.spawn(as);
    sdks_.erase(order.process);
    Sdk sdk = new_sdk(*process);
    if (sdk.agones || sdk.gsdk) sdks_[order.process] = std::move(sdk);
    held_[order.process] = {pid, order.life};
    parts_.ground.started(machine, pid, order.run->sdk);
    supervisor_.spawned(moment(), order.process, pid);
}

void HostAgent::do_order(const StopProcess& order) {
    const Time now = parts_.clock.now();
    if (const auto sdk = sdks_.find(order.process); sdk != sdks_.end()) {
        if (sdk->second.agones) sdk->second.agones->stop(now);
        if (sdk->second.gsdk) sdk->second.gsdk->stop(now);
    }
    const auto held = held_.find(order.process);
    if (held != held_.end() && held->second.pid != 0) parts_.ground.asked_to_stop(parts_.machine, held->second.pid);
}

void HostAgent::do_order(const KillProcess& order) {
    const auto held = held_.find(order.process);
    if (held == held_.end()) return;
    if (sabotage_ == Sabotage::ends_gently_only && held->second.pid != 0) return;
    if (sabotage_ == Sabotage::leaves_children) return parts_.machine.end(held->second.pid, {.signal = SIGKILL});
    kill_life(held->second.life);
}

void HostAgent::do_order(const JoinMuster& order) {
    if (sabotage_ == Sabotage::keeps_dead_matches && clients_.contains(order.process)) return;
    Client client{.at = {parts_.machine.name(), order.port}};
    if (order.match && order.match->stage != MatchHeld::Stage::offered) {
        client.held = order.match->match.lobby;
        // As far as it had come, again.
        client.unsent.push_back({order.process, *client.held, TellMatch::What::accept});
    }
    std::erase_if(leaving_, [&client](const Client& each) { return each.at == client.at; });
    clients_[order.process] = std::move(client);
}

void HostAgent::do_order(const LeaveMuster& order) {
    if (sabotage_ == Sabotage::keeps_dead_matches) return;
    const auto found = clients_.find(order.process);
    if (found == clients_.end()) return;
    found->second.leaves = true;
    found->second.crashed = order.crashed;
    leaving_.push_back(std::move(found->second));
    clients_.erase(found);
}

void HostAgent::do_order(const DrainAtMuster& order) {
    const auto found = clients_.find(order.process);
    if (found != clients_.end()) found->second.draining = order.draining;
}

void HostAgent::do_order(const AskMatches& order) {
    supervisor_.matches_held(moment(), order.process, 0);
}

void HostAgent::do_order(const OfferMatch& order) {
    const Time now = parts_.clock.now();
    if (const auto sdk = sdks_.find(order.process); sdk != sdks_.end()) {
        if (sdk->second.agones) sdk->second.agones->offer(now, order.match);
        if (sdk->second.gsdk) sdk->second.gsdk->offer(order.match, random_uuid(parts_.entropy));
        return hear_sdks();
    }
    if (parts_.machine.disk_full) return supervisor_.not_told(order.process, order.match.lobby);
    parts_.ground.told(parts_.machine, held_.at(order.process).pid, order.match.lobby);
    supervisor_.heard(moment(), order.process, {SdkFact::Kind::match_ready, order.match.lobby});
}

void HostAgent::do_order(const DropMatch& order) {
    const auto sdk = sdks_.find(order.process);
    if (sdk == sdks_.end()) return;
    if (sdk->second.agones) sdk->second.agones->abort(parts_.clock.now(), order.lobby, order.reason);
    if (sdk->second.gsdk) sdk->second.gsdk->abort(parts_.clock.now(), order.lobby);
}

void HostAgent::do_order(const TellMatch& order) {
    const auto found = clients_.find(order.process);
    if (found == clients_.end()) return;
    Client& client = found->second;
    const bool over = order.what == TellMatch::What::ended || order.what == TellMatch::What::decline;
    if (over && sabotage_ == Sabotage::keeps_dead_matches) return;
    client.unsent.push_back(order);
    if (over) client.held.reset();
    if (!over) client.held = order.lobby;
    // What is told may be on its way before the next order, or wait for the end of the turn.
    if (coin() && client.online && parts_.muster.up() && linked_) flush(order.process, client);
}

bool HostAgent::coin() {
    std::array<std::byte, 1> toss{};
    parts_.entropy.fill(toss);
    return std::to_integer<int>(toss[0]) % 2 == 0;
}

void HostAgent::do_order(const ProcessNews& news) {
    const Process* process = supervisor_.find(news.process);
    if (!process) return;
    if (news.kind == ProcessNews::Kind::crash_loop) ++crash_loops_told_;
    if (news.kind == ProcessNews::Kind::exited) sdks_.erase(news.process);
    write_record(*process);
    if (sabotage_ == Sabotage::starts_at_once && news.kind == ProcessNews::Kind::exited)
        (void)supervisor_.restart(moment(), process->name);
}

void HostAgent::write_record(const Process& process) {
    Machine& machine = parts_.machine;
    const auto held = held_.find(process.id);
    const bool runs = held != held_.end() && held->second.pid != 0;
    if (!runs && (!process.rests() || machine.disk_full)) {
        machine.records.erase(process.name);
        return;
    }
    if (machine.disk_full) return;
    ProcessRecord record = record_of(process, moment());
    record.start_ticks = static_cast<std::uint64_t>(record.pid) * 10;
    record.boot = machine.boot();
    if (const auto sdk = sdks_.find(process.id); sdk != sdks_.end())
        record.sdk_state = sdk->second.agones ? sdk->second.agones->saved() : sdk->second.gsdk->saved();
    if (sabotage_ == Sabotage::forgets_pauses) record.pace = {};
    if (sabotage_ == Sabotage::forgets_pauses && record.starts_at) record.starts_at = parts_.clock.wall();
    machine.records[process.name] = to_json(record);
}

void HostAgent::flush() {
    if (!parts_.muster.up() || !linked_) {
        for (auto& [process, client] : clients_) client.online = false;
        for (Client& client : leaving_) client.online = false;
        return;
    }
    for (Client& client : leaving_) flush({}, client);
    leaving_.clear();
    for (auto& [process, client] : clients_) flush(process, client);
}

void HostAgent::flush(ProcessId process, Client& client) {
    MusterModel& muster = parts_.muster;
    if (!std::exchange(client.online, true)) {
        const bool unknown = muster.handshake(parts_.clock.now(), client.at, client.held);
        const Process* known = supervisor_.find(process);
        if (known && known->drained && !client.draining) client.draining = true;
        // Of a match that it has just ended Muster need not know.
        if (unknown && client.held) supervisor_.aborted(moment(), process, *std::exchange(client.held, {}), "unknown");
    }
    for (; !client.unsent.empty(); client.unsent.pop_front())
        muster.tell(client.at, client.unsent.front().lobby, client.unsent.front().what);
    if (client.draining) muster.set_draining(client.at, *std::exchange(client.draining, {}));
    if (client.leaves) muster.leave(client.at, client.crashed);
}

void HostAgent::set_linked(bool linked) {
    linked_ = linked;
    if (linked) return;
    for (auto& [process, client] : clients_) client.online = false;
}

void HostAgent::offered(const Endpoint& at, LobbyId lobby) {
    supervisor_.offered(moment(), process_at(at), {.lobby = lobby, .token = "token"});
}

void HostAgent::aborted(const Endpoint& at, LobbyId lobby) {
    const ProcessId process = process_at(at);
    if (const auto client = clients_.find(process); client != clients_.end()) client->second.held.reset();
    supervisor_.aborted(moment(), process, lobby, "an operator");
}

ProcessId HostAgent::process_at(const Endpoint& at) const {
    for (const auto& [process, client] : clients_)
        if (client.at == at) return process;
    return {};
}

void HostAgent::reload(std::vector<RunConfig> runs) {
    runs_ = std::move(runs);
    supervisor_.configure(moment(), ports, runs_);
    std::erase_if(parts_.machine.counts,
                  [this](const auto& each) { return supervisor_.wanted(each.first) != each.second; });
}

void HostAgent::scale(const std::string& run, std::int32_t count) {
    if (supervisor_.scale(moment(), run, count)) parts_.machine.counts[run] = count;
}

GameSdk HostAgent::sdk_of(std::int32_t pid) {
    for (auto& [process, held] : held_) {
        const auto sdk = held.pid == pid ? sdks_.find(process) : sdks_.end();
        if (sdk == sdks_.end()) continue;
        return {sdk->second.agones ? &*sdk->second.agones : nullptr, sdk->second.gsdk ? &*sdk->second.gsdk : nullptr};
    }
    return {};
}

bool HostAgent::owns(const MachineProcess& process) const {
    const std::int32_t leader = process.leader == 0 ? process.pid : process.leader;
    return std::any_of(held_.begin(), held_.end(), [leader](const auto& each) { return each.second.pid == leader; });
}

HostAgent::Sdk HostAgent::new_sdk(const Process& process) {
    const Time now = parts_.clock.now();
    Sdk sdk;
    if (process.run->sdk == SdkKind::agones)
        sdk.agones.emplace(agones::Process{.name = process.name, .fleet = process.run->name, .port = process.port},
                           agones::Session::Life{now, parts_.clock.wall(), random_uuid(parts_.entropy)});
    if (process.run->sdk == SdkKind::gsdk) sdk.gsdk.emplace(gsdk::Process{}, now);
    return sdk;
}

void HostAgent::kill_life(std::string_view life) {
    parts_.ground.killing(parts_.machine, life);
    parts_.machine.kill_life(life);
}

}  // namespace muster::hostsim

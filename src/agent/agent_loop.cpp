#include "agent/agent_loop.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "agent/agent_config.h"
#include "base/safe_text.h"
#include "base/shared_deadline.h"
#include "process/version.h"

namespace muster {
namespace {

using namespace std::chrono_literals;

constexpr Duration port_look = 100ms;
constexpr Duration log_look = 1s;
constexpr Duration log_look_in_flood = 100ms;
constexpr Duration load_look = 5s;  // twice for each heartbeat
constexpr Duration leftover_look = 100ms;
constexpr Duration exit_look = 20ms;  // until it is known how a process ended
// Of a turn, for starts. A machine starts some hundred processes a second: those of a thousand must not keep the
// others, Muster and operators waiting.
constexpr Duration start_slice = 50ms;
// What SDK sessions are due for, such as a health ping that does not come, is looked at together: a turn visits every
// process, and the sessions of a thousand are due two hundred times a second.
constexpr Duration sdk_look = 250ms;
// Of what a crashed process said last, this many lines stand in the agent's own log.
constexpr std::size_t last_lines_logged = 5;

// The last few lines of an output, each made harmless.
std::vector<std::string> last_lines(const std::string& output, std::size_t most) {
    std::vector<std::string> lines;
    std::string_view rest = output;
    while (!rest.empty() && rest.back() == '\n') rest.remove_suffix(1);
    while (!rest.empty() && lines.size() < most) {
        const std::size_t line = rest.rfind('\n');
        lines.push_back(safe_text(rest.substr(line == std::string_view::npos ? 0 : line + 1)));
        rest = line == std::string_view::npos ? std::string_view() : rest.substr(0, line);
    }
    std::reverse(lines.begin(), lines.end());
    return lines;
}

}  // namespace

AgentLoop::AgentLoop(const AgentConfig& config, const Clock& clock, Log& log, Host& host, StateFolder& folder,
                     MusterSide& muster, HostSide& host_side, SdkServer& sdk_server)
    : config_(config),
      clock_(clock),
      log_(log),
      host_(host),
      folder_(folder),
      muster_(muster),
      host_side_(host_side),
      sdk_server_(sdk_server),
      supervisor_(config.ports, entropy_) {}

void AgentLoop::begin() {
    const Moment at = moment();
    next_log_look_ = next_load_look_ = at.now;
    supervisor_.configure(at, config_.ports, config_.runs);
    restore_counts(at);
    if (folder_.draining()) {
        log_.info("Still draining (operator request)");
        supervisor_.drain(at, true);
    }
    if (const std::size_t removed = host_.cgroups().usable() ? host_.cgroups().remove_abandoned(at.wall) : 0;
        removed > 0)
        log_.info("Removed {} empty {} that agents of this machine had left", removed,
                  removed == 1 ? "cgroup" : "cgroups");
    adopt_survivors(at);
    supervisor_.configure(at, config_.ports, config_.runs);
    for (const Process* each : supervisor_.processes()) report_process(*each, ReportedNews::none);
}

void AgentLoop::adopt_survivors(Moment at) {
    const Census census = host_.find_survivors();
    for (const ProcessRecord& record : census.survivors) adopt(at, record);
    for (const ProcessRecord& record : census.ended) bury(at, record, host_.exit_of(record));
    for (const ProcessRecord& record : census.rebooted) bury(at, record, {.machine_went_down = true});
    for (const ProcessRecord& record : census.resting) rest(at, record);
    // Muster may keep a server with a match for those that are being ended: it hears at once that they are gone.
    for (const SeenProcess& each : census.unowned) {
        auto record = record_of_unowned(each, config_.runs);
        if (!record) continue;
        record->started_at = at.wall;  // when it was is not known
        const Adopted adopted = adopted_from(*record, config_.runs, at);
        if (!supervisor_.bury(at, adopted, {.signal = SIGKILL})) continue;
        if (const Process* process = supervisor_.find(each.name)) host_.remember(process->id, *record, *adopted.config);
    }
}

void AgentLoop::bury(Moment at, const ProcessRecord& record, ExitStatus status) {
    const Adopted adopted = adopted_from(record, config_.runs, at);
    if (!supervisor_.bury(at, adopted, status)) return host_.end_survivor(record);
    log_.warning("Process {} (pid {}) ended while no agent watched", record.name, record.pid);
    if (const Process* process = supervisor_.find(record.name)) host_.remember(process->id, record, *adopted.config);
}

void AgentLoop::rest(Moment at, const ProcessRecord& record) {
    const Adopted adopted = adopted_from(record, config_.runs, at);
    const Process* process = supervisor_.rest(at, adopted) ? supervisor_.find(record.name) : nullptr;
    if (!process) return host_.end_survivor(record);
    host_.remember(process->id, record, *adopted.config);
    reports_.ended(process->id, host_.last_output(process->id));
}

void AgentLoop::adopt(Moment at, const ProcessRecord& record) {
    const Adopted adopted = adopted_from(record, config_.runs, at);
    const bool taken = supervisor_.adopt(at, adopted);
    const Process* process = taken ? supervisor_.find(record.name) : nullptr;
    if (!process) {
        log_.warning("Process {} (pid {}) is not wanted: ending it", record.name, record.pid);
        return host_.end_survivor(record);
    }
    if (!host_.adopt(process->id, record, *adopted.config))
        return supervisor_.exited(at, process->id, host_.exit_of(record));
    if (auto side = sdk_server_.make(*process)) {
        side->restore(at.now, record.life, record.sdk_state);
        sdks_[process->id] = {std::move(side)};
    }
    log_.info("Adopted process {} (pid {}, port {})", record.name, record.pid, record.port);
}

void AgentLoop::turn() {
    const Moment at = moment();
    for (const HostExit& exit : host_.collect(at.now)) supervisor_.exited(at, exit.process, exit.status);
    hear_muster(at);
    hear_host(at);
    hear_sdks(at);
    look_for_ports(at);
    supervisor_.tick(at);
    obey(at);
    start_some(at);
    keep_house(at);
}

Time AgentLoop::next_turn() const {
    if (!starts_.empty()) return clock_.now();
    Time next = std::min(next_log_look_, next_load_look_);
    if (const auto due = supervisor_.next_tick()) next = std::min(next, *due);
    if (watches_ports_) next = std::min(next, next_port_look_);
    if (host_.exits_pending()) next = std::min(next, clock_.now() + exit_look);
    if (host_.leftovers()) next = std::min(next, next_leftover_look_);
    for (const auto& [process, sdk] : sdks_)
        if (const auto due = sdk.side->next_tick()) next = std::min(next, shared_deadline(*due, sdk_look));
    return next;
}

void AgentLoop::hear_muster(Moment at) {
    for (const MusterSaid& said : muster_.take_said()) {
        const Process* process = supervisor_.find(said.process);
        const std::string name = process ? process->name : std::string("?");
        switch (said.kind) {
            case MusterSaid::Kind::offer:
                supervisor_.offered(at, said.process, said.match);
                break;
            case MusterSaid::Kind::abort:
                log_.info("Muster aborted match {} of process {}: {}", said.match.lobby.value, name, said.text);
                supervisor_.aborted(at, said.process, said.match.lobby, said.text);
                break;
            case MusterSaid::Kind::online:
                log_.info("Process {} is game server {} at Muster", name, said.server.value);
                if (!process) break;
                reports_.registered(said.process, said.server);
                report_process(*process, ReportedNews::none);
                break;
            case MusterSaid::Kind::connecting:
                log_.warning("Process {}: no link to Muster", name);
                break;
            case MusterSaid::Kind::no_link:
                // What keeps the host's own link down was told for all of them.
                if (said.text != host_side_.problem())
                    log_.warning("Process {}: no link to Muster yet: {}", name, said.text);
                break;
            case MusterSaid::Kind::error:
                log_.warning("Process {}: {}", name, said.text);
                break;
            case MusterSaid::Kind::closed:
                break;
        }
    }
}

void AgentLoop::hear_sdks(Moment at) {
    for (const auto& [id, sdk] : sdks_) {
        for (const SdkFact& fact : sdk.side->take_facts(at.now)) supervisor_.heard(at, id, fact);
        // Who begins and ends it again and again writes no record for each.
        if (!sdk.side->take_urgent() || sdk.side->revision() == sdk.written) continue;
        if (const Process* process = supervisor_.find(id)) write_record(*process);
    }
}

void AgentLoop::look_for_ports(Moment at) {
    std::vector<Host::Awaited> waiting;
    for (const Process* each : supervisor_.processes()) {
        const bool from_outside = each->run->sdk == SdkKind::none || each->run->sdk == SdkKind::muster;
        if (each->pid && each->state == ProcessState::starting && from_outside && !each->run->ready_after)
            waiting.push_back({each->id, each->port});
    }
    watches_ports_ = !waiting.empty();
    if (!watches_ports_ || at.now < next_port_look_) return;
    next_port_look_ = at.now + port_look;
    for (const ProcessId each : host_.bound(waiting, at.now)) supervisor_.port_bound(at, each);
}

void AgentLoop::keep_house(Moment at) {
    if (host_.leftovers() && next_leftover_look_ <= at.now) {
        host_.end_leftovers();
        next_leftover_look_ = at.now + leftover_look;
    }
    if (next_log_look_ <= at.now) {
        keep_folder();
        // What a process says of itself beside its state, such as labels and counters, is on disk within a second.
        for (const auto& [id, sdk] : sdks_)
            if (const Process* process = supervisor_.find(id); process && sdk.side->revision() != sdk.written)
                write_record(*process);
        for (const ProcessId id : std::set(unwritten_)) {
            const Process* process = supervisor_.find(id);
            if (process) write_record(*process);
            if (!process) unwritten_.erase(id);
        }
        next_log_look_ = at.now + (host_.rotate_logs() ? log_look_in_flood : log_look);
    }
    if (next_load_look_ <= at.now) {
        next_load_look_ = at.now + load_look;
        std::int32_t share = 0;
        for (const Process* each : supervisor_.processes()) share += each->pid ? 1 : 0;
        for (const Process* each : supervisor_.processes()) {
            if (!each->pid) continue;
            const ProcessLoad load = host_.read_load(each->id, at.now, share);
            muster_.report_load(each->id, {.cpu_percent = static_cast<float>(load.cpu_percent),
                                           .memory_percent = static_cast<float>(load.memory_percent),
                                           .own_matches = each->allocated_itself ? 1 : 0});
        }
        report_host();
    }
    muster_.tidy(at.now);
    host_side_.tidy(at.now);
}

// Somebody may remove the state folder under a running agent: without it the next agent would end all processes.
void AgentLoop::keep_folder() {
    if (folder_.intact()) {
        folder_lost_ = false;
        return;
    }
    if (!folder_.restore()) {
        if (!std::exchange(folder_lost_, true))
            log_.error("The state folder {} is gone and cannot be made again: the next agent will find no process",
                       folder_.path().string());
        return;
    }
    log_.error("The state folder {} was removed; it is made again. What the processes had printed is lost",
               folder_.path().string());
    for (const Process* each : supervisor_.processes()) write_record(*each);
    if (!operator_counts_.empty()) (void)folder_.write_counts(operator_counts_);
    if (supervisor_.draining()) (void)folder_.write_draining(true);
}

void AgentLoop::obey(Moment at) {
    for (std::vector<Order> orders = supervisor_.take_orders(); !orders.empty(); orders = supervisor_.take_orders()) {
        // What the next agent must know is on disk before a process or Muster hears of it.
        written_first_ = to_be_written_first(orders);
        for (const ProcessId id : written_first_)
            if (const Process* process = supervisor_.find(id)) write_record(*process);
        for (const Order& order : orders) std::visit([&](const auto& each) { do_order(at, each); }, order);
    }
}

SdkSide* AgentLoop::sdk_of(ProcessId process) const {
    const auto found = sdks_.find(process);
    return found == sdks_.end() ? nullptr : found->second.side.get();
}

void AgentLoop::do_order(Moment, const StartProcess& order) {
    starts_.push_back(order);
}

void AgentLoop::start_some(Moment at) {
    const Time until = clock_.now() + start_slice;
    while (!starts_.empty()) {
        const StartProcess order = std::move(starts_.front());
        starts_.pop_front();
        if (supervisor_.start_wanted(at, order.process)) start(at, order);
        obey(at);  // it is written down before the next one starts
        if (clock_.now() >= until) return;
    }
}

void AgentLoop::start(Moment at, const StartProcess& order) {
    const Process* process = supervisor_.find(order.process);
    if (!process) return;
    std::vector<EnvironmentEntry> from_sdk;
    sdks_.erase(order.process);
    if (auto side = sdk_server_.make(*process)) {
        from_sdk = side->begin_life(at.now, order.life);
        sdks_[order.process] = {std::move(side)};
    }
    const Host::Started started = host_.start(order, *process, from_sdk);
    switch (started.how) {
        case Host::Start::started:
            return supervisor_.spawned(at, order.process, started.pid);
        case Host::Start::port_taken:
            return supervisor_.port_taken(at, order.process);
        case Host::Start::failed:
            return supervisor_.spawn_failed(at, order.process, started.why);
    }
}

void AgentLoop::do_order(Moment at, const StopProcess& order) {
    if (SdkSide* sdk = sdk_of(order.process)) sdk->stop(at.now);
    host_.signal(order.process, order.signal);
}

void AgentLoop::do_order(Moment, const KillProcess& order) {
    host_.kill_all(order.process);
}

void AgentLoop::do_order(Moment at, const JoinMuster& order) {
    muster_.join(at.now, order.process, order.port, order.match);
}

void AgentLoop::do_order(Moment at, const LeaveMuster& order) {
    muster_.leave(at.now, order.process, order.crashed);
}

void AgentLoop::do_order(Moment, const DrainAtMuster& order) {
    const Process* process = supervisor_.find(order.process);
    // One that registered itself has a link of its own, which is not the agent's.
    if (process && process->run->sdk == SdkKind::muster) return host_side_.ask_matches(process->name, order.draining);
    muster_.drain(order.process, order.draining);
}

void AgentLoop::do_order(Moment at, const OfferMatch& order) {
    // A match that the next agent would not know of would be lost with this one.
    const bool is_kept = !unwritten_.contains(order.process);
    if (SdkSide* sdk = sdk_of(order.process); sdk && is_kept) {
        sdk->offer(at.now, order.match);
        if (const auto listed = listed_.find(order.match.lobby); listed != listed_.end())
            sdk->set_players(listed->first, listed->second);
        return;
    }
    if (is_kept && host_.tell_match(order.process, order.match))
        return supervisor_.heard(at, order.process, {SdkFact::Kind::match_ready, order.match.lobby});
    log_.warning("Match {} is declined: it cannot be written down; is the disk of the state folder full?",
                 order.match.lobby.value);
    supervisor_.not_told(order.process, order.match.lobby);
}

void AgentLoop::do_order(Moment at, const DropMatch& order) {
    if (SdkSide* sdk = sdk_of(order.process)) sdk->abort(at.now, order.lobby, order.reason);
}

void AgentLoop::do_order(Moment, const TellMatch& order) {
    muster_.tell(order);
}

void AgentLoop::do_order(Moment at, const ProcessNews& news) {
    const Process* process = supervisor_.find(news.process);
    if (!process) return;
    if (news.kind == ProcessNews::Kind::exited) {
        if (SdkSide* sdk = sdk_of(news.process)) sdk->end_life(at.now);
        sdks_.erase(news.process);
        reports_.ended(news.process, host_.last_output(news.process));
    }
    metrics_.count(news, *process);
    report_process(*process, reported(news.kind));
    tell_news(news, *process);
    if (!written_first_.contains(news.process)) write_record(*process);
}

void AgentLoop::write_record(const Process& process) {
    const auto found = sdks_.find(process.id);
    std::string sdk_state;
    if (found != sdks_.end()) {
        found->second.written = found->second.side->revision();
        sdk_state = found->second.side->saved();
    }
    if (host_.write_record(process, moment(), sdk_state)) {
        unwritten_.erase(process.id);
        return;
    }
    metrics_.record_not_written();
    if (!unwritten_.insert(process.id).second) return;
    log_.warning("Cannot write down process {}: the next agent may not know what it does", process.name);
}

void AgentLoop::tell_news(const ProcessNews& news, const Process& process) {
    switch (news.kind) {
        case ProcessNews::Kind::started:
            log_.info("Started process {} (pid {}, port {})", process.name, process.pid.value_or(0), process.port);
            return;
        case ProcessNews::Kind::ready:
            log_.info("Process {} is ready", process.name);
            return;
        case ProcessNews::Kind::exited: {
            const auto ran = process.last_exit ? process.last_exit->ran : std::nullopt;
            const std::string after = ran ? fmt::format(" after {:.1f} s", to_seconds(*ran)) : std::string();
            // One match is often one life: an end that is no failure is no warning, and its words are in its own log.
            if (process.last_exit && !process.last_exit->failed) {
                log_.info("Process {} ended{}: {}", process.name, after, news.text);
                return;
            }
            log_.warning("Process {} ended{}: {}", process.name, after, news.text);
            for (const std::string& line : last_lines(host_.last_output(process.id), last_lines_logged))
                log_.info("  {} said: {}", process.name, line);
            return;
        }
        case ProcessNews::Kind::unhealthy:
            log_.warning("Process {} is unhealthy: {}", process.name, news.text);
            return;
        case ProcessNews::Kind::crash_loop:
            log_.error("Process {} is in a crash loop ({}); one try every five minutes", process.name, news.text);
            return;
        case ProcessNews::Kind::changed:
            return;
    }
}

void AgentLoop::reload(const AgentConfig& config) {
    config_.ports = config.ports;
    config_.runs = config.runs;
    supervisor_.configure(moment(), config_.ports, config_.runs);
    // Where the config says another count, what an operator had set is over. A disk that does not take that loses
    // nothing: the next agent sees it as well.
    const auto over = [this](const auto& each) {
        return configured_count(each.first) != each.second.config ||
               supervisor_.wanted(each.first) != each.second.count;
    };
    if (std::erase_if(operator_counts_, over) > 0) (void)folder_.write_counts(operator_counts_);
}

void AgentLoop::end_all(bool at_once) {
    supervisor_.end_all(moment(), at_once);
}

std::string AgentLoop::metrics(std::optional<std::int64_t> certificate_left) const {
    return metrics_.text(supervisor_, {host_side_.online(), version(), certificate_left});
}

bool AgentLoop::all_ended() const {
    return supervisor_.all_ended() && !host_.leftovers();
}

}  // namespace muster

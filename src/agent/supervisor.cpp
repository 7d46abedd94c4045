#include "agent/supervisor.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "agent/process_record.h"
#include "agent/signal_names.h"
#include "base/check.h"

namespace muster {
namespace {

using Kind = SdkFact::Kind;
using News = ProcessNews::Kind;
using Stage = MatchHeld::Stage;
using Tell = TellMatch::What;

std::string new_life(Entropy& entropy) {
    std::array<std::byte, 16> bytes{};
    entropy.fill(bytes);
    std::string text;
    for (const std::byte each : bytes) text += fmt::format("{:02x}", std::to_integer<unsigned>(each));
    return text;
}

// Nobody but the system tells when such a process can take a match.
bool ready_is_seen_from_outside(const RunConfig& run) {
    return run.sdk == SdkKind::none || run.sdk == SdkKind::muster;
}

}  // namespace

std::optional<Supervisor::Place> Supervisor::place_of(const Adopted& process) {
    const std::size_t dash = process.name.rfind('-');
    if (dash == std::string::npos) return std::nullopt;
    std::int32_t number = 0;
    const char* end = process.name.data() + process.name.size();
    const auto [stop, error] = std::from_chars(process.name.data() + dash + 1, end, number);
    if (error != std::errc() || stop != end || number <= 0) return std::nullopt;
    if (process.name != fmt::format("{}-{}", process.run, number)) return std::nullopt;
    return Place{process.run, number};
}

bool Supervisor::adopt(Moment at, Adopted adopted) {
    const auto place = place_of(adopted);
    if (!place) return false;
    const auto known = processes_.find(*place);
    const bool place_is_free = known == processes_.end() || !known->second.lives();
    if (!place_is_free || !ports_.claim(adopted.port)) return false;
    // A run that is not in the config any more: configure() will see to its end.
    auto [run, is_new] = runs_.try_emplace(adopted.run);
    if (is_new) {
        run->second.config = adopted.config ? adopted.config : std::make_shared<const RunConfig>();
        run->second.fingerprint = fingerprint(*run->second.config);
        run->second.gone = true;
    }

    Process& process = known == processes_.end() ? add_process(*place, run->second.config) : known->second;
    const auto config = adopted.config ? adopted.config : run->second.config;
    process.run = config;
    process.fingerprint = adopted.fingerprint.empty() ? fingerprint(*config) : std::move(adopted.fingerprint);
    process.pid = adopted.pid;
    process.port = adopted.port;
    process.life = std::move(adopted.life);
    process.started_at = adopted.started_at;
    process.started = at.now - adopted.ran;
    process.restarts = adopted.restarts;
    process.pace = std::move(adopted.pace);
    process.last_exit = std::move(adopted.last_exit);
    process.was_ready = adopted.was_ready;  // which is no news
    process.state = ProcessState::starting;
    // A plain program may have been told of an offer just before the agent died. Then it plays, and can take no other;
    // Muster says whether it still wants that match.
    const bool perhaps_told = adopted.match && adopted.match->stage == Stage::offered && config->sdk == SdkKind::none;
    if (perhaps_told) adopted.match->stage = Stage::ready;
    if (adopted.match && adopted.match->stage != Stage::offered) {
        process.match = std::move(adopted.match);
        process.match->ready_at = at.now;
        process.had_match = true;
    }
    if (process.was_ready) became_ready(at, process);
    if (process.match) set_state(process, ProcessState::allocated);
    if (!run->second.gone) compare_settings(at, process, run->second);
    return true;
}

bool Supervisor::bury(Moment at, Adopted adopted, ExitStatus status) {
    const std::string name = adopted.name;
    // An offer that nobody answered is over by itself.
    if (adopted.match && adopted.match->stage == Stage::offered) adopted.match.reset();
    if (!adopt(at, std::move(adopted))) return false;
    const Process* adopted_one = find(name);
    if (!adopted_one) return true;
    exited(at, adopted_one->id, status);
    // When it ended, nobody saw.
    if (Process* process = find_process(adopted_one->id); process && process->last_exit)
        process->last_exit->ran.reset();
    return true;
}

bool Supervisor::rest(Moment at, Adopted resting) {
    const auto place = place_of(resting);
    const auto known = place ? processes_.find(*place) : processes_.end();
    if (known == processes_.end() || known->second.state != ProcessState::backoff) return false;
    Process& process = known->second;
    process.fingerprint = std::move(resting.fingerprint);
    process.life = std::move(resting.life);
    process.started_at = resting.started_at;
    process.restarts = resting.restarts;
    process.pace = std::move(resting.pace);
    process.last_exit = std::move(resting.last_exit);
    process.start_at = resting.starts_at;
    if (process.pace.in_crash_loop()) process.state = ProcessState::crash_loop;  // which is no news
    compare_settings(at, process, runs_.at(place->run));
    return true;
}

void Supervisor::configure(Moment at, PortRange range, const std::vector<RunConfig>& runs) {
    ports_.set_range(range);
    for (auto& [name, run] : runs_) {
        run.gone = std::none_of(runs.begin(), runs.end(), [&](const RunConfig& each) { return each.name == name; });
    }
    for (const RunConfig& config : runs) {
        auto [found, is_new] = runs_.try_emplace(config.name);
        Run& run = found->second;
        const bool count_changed = is_new || run.config->count != config.count;
        run.config = std::make_shared<const RunConfig>(config);
        run.fingerprint = fingerprint(config);
        // What an operator has set stays, until the config itself says another count.
        run.wanted = std::min(count_changed ? config.count : run.wanted, config.count_max);
        for (auto& [place, process] : processes_)
            if (place.run == config.name) compare_settings(at, process, run);
    }
    for (const auto& [name, run] : runs_) balance(at, name);
}

bool Supervisor::start_wanted(Moment at, ProcessId id) {
    Process* process = find_process(id);
    if (!process || process->state != ProcessState::starting || process->pid) return false;
    if (process->wish == EndWish::leave) {
        after_exit(at, *process, Duration::zero(), false);
        return false;
    }
    if (ports_.range().holds(process->port)) return true;
    start(at, *process);  // the range has changed meanwhile
    return false;
}

void Supervisor::spawned(Moment at, ProcessId id, std::int32_t pid) {
    Process* process = find_process(id);
    if (!process || process->state != ProcessState::starting || process->pid) return;
    process->pid = pid;
    process->started = at.now;
    process->started_at = at.wall;
    process->ports_tried = 0;
    tell(News::started, *process);
    if (process->wish != EndWish::none) wish_end(at, *process, process->wish, process->end_reason);
}

void Supervisor::spawn_failed(Moment at, ProcessId id, std::string_view why) {
    Process* process = find_process(id);
    if (process && process->state == ProcessState::starting && !process->pid) fail_start(at, *process, why);
}

void Supervisor::port_taken(Moment at, ProcessId id) {
    Process* process = find_process(id);
    if (!process || process->state != ProcessState::starting || process->pid) return;
    // Somebody else has it just now. The next one is taken before this one is given back: it must be another.
    const std::uint16_t taken = process->port;
    process->port = ports_.take().value_or(0);
    ports_.give_back(taken);
    if (process->port == 0 || ++process->ports_tried >= ports_.range().size()) {
        const PortRange& range = ports_.range();
        return fail_start(at, *process, fmt::format("no free port in {}-{}", range.first, range.last));
    }
    start(at, *process);
}

void Supervisor::port_bound(Moment at, ProcessId id) {
    Process* process = find_process(id);
    if (!process || !process->pid || process->state != ProcessState::starting) return;
    if (ready_is_seen_from_outside(*process->run) && !process->run->ready_after) became_ready(at, *process);
}

void Supervisor::exited(Moment at, ProcessId id, ExitStatus status) {
    Process* process = find_process(id);
    if (!process || !process->pid) return;
    const Duration ran = at.now - process->started;
    const std::string how = to_text(status);
    const bool ordered = process->being_ended();
    const std::string reason = ordered ? fmt::format("{}; {}", process->end_reason, how) : how;
    const bool ended_its_match = !ordered && process->had_match && status.clean();
    const bool failed = !process->end_is_wished && !ended_its_match;
    process->last_exit = ProcessExit{status, at.wall, ran, reason, failed};
    if (process->match && !ordered) {
        if (process->match->stage == Stage::offered) {
            orders_.emplace_back(TellMatch{id, process->match->match.lobby, Tell::decline});
        } else if (status.clean()) {
            orders_.emplace_back(TellMatch{id, process->match->match.lobby, Tell::ended});
        }
    }
    leave_muster(*process, !ordered && status.crashed());
    process->pid.reset();
    orders_.emplace_back(KillProcess{id});  // what it started must not outlive it
    tell(News::exited, *process, reason);
    after_exit(at, *process, ran, failed);
}

void Supervisor::after_exit(Moment at, Process& process, Duration ran, bool failed) {
    const EndWish wish = process.wish;
    process.match.reset();
    process.kill_at.reset();
    process.wish = EndWish::none;
    process.wish_by.reset();
    process.end_reason.clear();
    process.end_is_wished = process.offers_off = process.was_ready = process.had_match = false;
    process.allocated_itself = process.drained = process.out_of_reach = process.to_be_replaced = false;
    process.own_matches = 0;
    process.own_server = {};
    process.asked = false;
    process.ask_by.reset();

    if (wish == EndWish::leave || ending_) {
        ports_.give_back(process.port);
        process.port = 0;
        return set_state(process, ProcessState::stopped);
    }
    if (wish != EndWish::none) {
        process.start_at = at.now;
        return set_state(process, ProcessState::backoff);
    }
    if (!failed) {
        process.pace.lived(ran);
        process.start_at = at.now + RestartPace::first_pause;
        return set_state(process, ProcessState::backoff);
    }
    const RestartPace::Pause pause = process.pace.failed(at.now, ran);
    process.start_at = at.now + pause.length;
    set_state(process, process.pace.in_crash_loop() ? ProcessState::crash_loop : ProcessState::backoff);
    if (pause.crash_loop_began)
        tell(News::crash_loop, process, process.last_exit ? process.last_exit->reason : std::string());
}

void Supervisor::fail_start(Moment at, Process& process, std::string_view why) {
    process.last_exit = ProcessExit{{}, at.wall, std::nullopt, fmt::format("cannot be started: {}", why)};
    process.ports_tried = 0;
    if (process.port != 0) ports_.give_back(process.port);
    process.port = 0;
    tell(News::exited, process, process.last_exit->reason);
    after_exit(at, process, Duration::zero(), true);
}

void Supervisor::start(Moment at, Process& process) {
    if (process.port != 0 && !ports_.range().holds(process.port)) {
        ports_.give_back(process.port);
        process.port = 0;
    }
    if (process.port == 0) {
        const auto port = ports_.take();
        if (!port) {
            process.state = ProcessState::starting;
            const PortRange& range = ports_.range();
            return fail_start(at, process, fmt::format("no free port in {}-{}", range.first, range.last));
        }
        process.port = *port;
    }
    if (process.state != ProcessState::starting && process.last_exit) ++process.restarts;
    process.run = run_of(process).config;
    process.fingerprint = run_of(process).fingerprint;
    process.life = new_life(entropy_);
    process.started = at.now;
    process.started_at = at.wall;
    set_state(process, ProcessState::starting);
    orders_.emplace_back(StartProcess{process.id, process.run, process.port, process.life});
}

void Supervisor::became_ready(Moment, Process& process) {
    set_state(process, ProcessState::ready);
    if (!std::exchange(process.was_ready, true)) tell(News::ready, process);
    register_at_muster(process);
    if (process.run->sdk == SdkKind::muster) update_draining(process);
}

void Supervisor::register_at_muster(Process& process) {
    if (process.registered || process.run->sdk == SdkKind::muster) return;
    process.registered = true;
    orders_.emplace_back(JoinMuster{process.id, process.port, process.match});
    update_draining(process);
}

void Supervisor::leave_muster(Process& process, bool crashed) {
    if (!process.registered) return;
    process.registered = process.drained = false;
    orders_.emplace_back(LeaveMuster{process.id, crashed});
}

void Supervisor::set_state(Process& process, ProcessState state) {
    if (process.state == state) return;
    process.state = state;
    tell(News::changed, process);
}

void Supervisor::tell(ProcessNews::Kind kind, const Process& process, std::string_view text) {
    orders_.emplace_back(ProcessNews{kind, process.id, std::string(text)});
}

void Supervisor::tick(Moment at) {
    for (auto& [place, process] : processes_) tick(at, process);
}

void Supervisor::tick(Moment at, Process& process) {
    const bool waits = process.state == ProcessState::backoff || process.state == ProcessState::crash_loop;
    if (waits) {
        if (process.start_at <= at.now && !ending_) start(at, process);
        return;
    }
    if (!process.pid) return;
    if (process.kill_at) {
        if (*process.kill_at > at.now) return;
        orders_.emplace_back(KillProcess{process.id});
        process.kill_at = at.now + kill_again;
        return;
    }
    if (process.state == ProcessState::starting) {
        const auto& ready_after = process.run->ready_after;
        if (ready_is_seen_from_outside(*process.run) && ready_after && process.started + *ready_after <= at.now)
            return became_ready(at, process);
        if (process.started + process.run->start_timeout <= at.now)
            return end(at, process, ProcessState::stopping,
                       fmt::format("not ready within {}", to_text(process.run->start_timeout)));
    }
    if (process.match && process.match->stage == Stage::ready && process.match->ready_at + joining_time <= at.now) {
        process.match->stage = Stage::started;
        orders_.emplace_back(TellMatch{process.id, process.match->match.lobby, Tell::started});
        tell(News::changed, process);
    }
    if (process.ask_by && *process.ask_by <= at.now) {
        process.ask_by.reset();
        return wish_end(at, process, process.wish, process.end_reason);
    }
    if (process.wish_by && *process.wish_by <= at.now) {
        process.end_is_wished = true;
        end(at, process, ProcessState::stopping, fmt::format("{}; its match took too long", process.end_reason));
    }
}

std::optional<Time> Supervisor::due(const Process& process) const {
    if (process.state == ProcessState::backoff || process.state == ProcessState::crash_loop)
        return ending_ ? std::nullopt : std::optional(process.start_at);
    if (!process.pid) return std::nullopt;
    if (process.kill_at) return process.kill_at;
    std::optional<Time> next = process.wish_by;
    const auto also = [&next](Time time) { next = next ? std::min(*next, time) : time; };
    if (process.ask_by) also(*process.ask_by);
    if (process.state == ProcessState::starting) {
        also(process.started + process.run->start_timeout);
        if (ready_is_seen_from_outside(*process.run) && process.run->ready_after)
            also(process.started + *process.run->ready_after);
    }
    if (process.match && process.match->stage == Stage::ready) also(process.match->ready_at + joining_time);
    return next;
}

std::optional<Time> Supervisor::next_tick() const {
    std::optional<Time> next;
    for (const auto& [place, process] : processes_) {
        const auto time = due(process);
        if (time) next = next ? std::min(*next, *time) : *time;
    }
    return next;
}

std::vector<Order> Supervisor::take_orders() {
    // What was ordered last is done by now: nobody needs to find them any more.
    if (orders_.empty()) forget_stopped();
    return std::exchange(orders_, {});
}

std::vector<const Process*> Supervisor::processes() const {
    std::vector<const Process*> all;
    all.reserve(processes_.size());
    for (const auto& [place, process] : processes_) all.push_back(&process);
    return all;
}

const Process* Supervisor::find(ProcessId id) const {
    const auto place = places_.find(id);
    return place == places_.end() ? nullptr : &processes_.at(place->second);
}

const Process* Supervisor::find(std::string_view name) const {
    for (const auto& [place, process] : processes_)
        if (process.name == name) return &process;
    return nullptr;
}

Process* Supervisor::find_process(ProcessId id) {
    const auto place = places_.find(id);
    return place == places_.end() ? nullptr : &processes_.at(place->second);
}

Process& Supervisor::add_process(const Place& place, std::shared_ptr<const RunConfig> config) {
    Process& process = processes_[place];
    process.id = ProcessId(++last_id_);
    process.name = fmt::format("{}-{}", place.run, place.number);
    process.number = place.number;
    process.run = std::move(config);
    process.fingerprint = fingerprint(*process.run);
    places_[process.id] = place;
    return process;
}

const Supervisor::Run& Supervisor::run_of(const Process& process) const {
    return runs_.at(places_.at(process.id).run);
}

std::optional<std::int32_t> Supervisor::wanted(std::string_view run) const {
    const auto found = runs_.find(std::string(run));
    return found == runs_.end() ? std::nullopt : std::optional(found->second.gone ? 0 : found->second.wanted);
}

std::vector<std::string> Supervisor::runs() const {
    std::vector<std::string> names;
    names.reserve(runs_.size());
    for (const auto& [name, run] : runs_) names.push_back(name);
    return names;
}

bool Supervisor::all_ended() const {
    return std::none_of(processes_.begin(), processes_.end(), [](const auto& each) { return each.second.lives(); });
}

}  // namespace muster

// The supervisor's other half: matches, and how processes are ended and counts are kept.
#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "agent/supervisor.h"
#include "protocol/agent_reasons.h"

namespace muster {
namespace {

using Kind = SdkFact::Kind;
using News = ProcessNews::Kind;
using Stage = MatchHeld::Stage;
using Tell = TellMatch::What;

}  // namespace

void Supervisor::heard(Moment at, ProcessId id, const SdkFact& fact) {
    Process* process = find_process(id);
    if (!process || !process->pid || process->being_ended()) return;
    const bool about_match = process->match && process->match->match.lobby == fact.lobby;
    switch (fact.kind) {
        case Kind::ready:
            if (process->match) match_over(at, *process, true);
            process->offers_off = process->allocated_itself = false;
            became_ready(at, *process);
            update_draining(*process);
            return end_if_free(at, *process);
        case Kind::accepted:
        case Kind::match_ready:
            if (!about_match) return;
            if (process->match->stage == Stage::offered) {
                process->match->stage = Stage::accepted;
                process->had_match = true;
                orders_.emplace_back(TellMatch{id, fact.lobby, Tell::accept});
                set_state(*process, ProcessState::allocated);
            }
            if (fact.kind == Kind::match_ready && process->match->stage == Stage::accepted) {
                process->match->stage = Stage::ready;
                process->match->ready_at = at.now;
                orders_.emplace_back(TellMatch{id, fact.lobby, Tell::ready});
                tell(News::changed, *process);
            }
            return;
        case Kind::match_ended:
            if (!about_match) return;
            match_over(at, *process, true);
            return end_if_free(at, *process);
        case Kind::allocated_itself:
        case Kind::reserved:
            process->offers_off = true;
            if (fact.kind == Kind::allocated_itself) {
                process->allocated_itself = true;
                set_state(*process, ProcessState::allocated);
            }
            if (process->allocated_itself || process->was_ready) register_at_muster(*process);
            return update_draining(*process);
        case Kind::out_of_reach:
        case Kind::in_reach:
            process->out_of_reach = fact.kind == Kind::out_of_reach;
            process->to_be_replaced = false;
            return update_draining(*process);
        case Kind::to_be_replaced:
            process->to_be_replaced = true;
            process->replace_reason = fact.reason;
            return end_if_free(at, *process);
        case Kind::unhealthy:
            tell(News::unhealthy, *process, fact.reason);
            return end(at, *process, ProcessState::unhealthy,
                       fact.reason.empty() ? "unhealthy" : fmt::format("unhealthy: {}", fact.reason));
        case Kind::shutdown:
            if (process->match) match_over(at, *process, true);
            process->end_is_wished = true;
            return end(at, *process, ProcessState::stopping,
                       fact.reason.empty() ? "it asked to be shut down" : std::string_view(fact.reason));
    }
}

// The process holds no match any more; whether it can take another is for it to say.
void Supervisor::match_over(Moment, Process& process, bool tell_muster) {
    const bool accepted = process.match->stage != Stage::offered;
    if (tell_muster)
        orders_.emplace_back(TellMatch{process.id, process.match->match.lobby, accepted ? Tell::ended : Tell::decline});
    process.match.reset();
    process.offers_off = true;
    update_draining(process);
    tell(News::changed, process);
}

void Supervisor::offered(Moment, ProcessId id, const SdkMatch& match) {
    Process* process = find_process(id);
    const bool can = process && process->pid && process->state == ProcessState::ready && process->registered &&
                     !process->match && !process->offers_off && !process->out_of_reach &&
                     process->wish == EndWish::none && !draining_;
    if (!can) {
        orders_.emplace_back(TellMatch{id, match.lobby, Tell::decline});
        return;
    }
    process->match = MatchHeld{.match = match};
    tell(News::changed, *process);  // written down before the process hears of it
    orders_.emplace_back(OfferMatch{id, match});
}

void Supervisor::not_told(ProcessId id, LobbyId lobby) {
    Process* process = find_process(id);
    if (!process || !process->match || process->match->match.lobby != lobby) return;
    if (process->match->stage != Stage::offered) return;
    process->match.reset();
    tell(News::changed, *process);
    orders_.emplace_back(TellMatch{id, lobby, Tell::decline});
}

void Supervisor::aborted(Moment at, ProcessId id, LobbyId lobby, std::string_view reason) {
    Process* process = find_process(id);
    if (!process || !process->match || process->match->match.lobby != lobby) return;
    match_over(at, *process, false);
    orders_.emplace_back(DropMatch{id, lobby, std::string(reason)});
    if (process->run->sdk == SdkKind::none) {
        // One match is one life: there is no other way to tell it that the match is off.
        process->end_is_wished = true;
        end(at, *process, ProcessState::stopping, fmt::format("its match was aborted: {}", reason));
    } else {
        end_if_free(at, *process);
    }
}

void Supervisor::matches_held(Moment at, ProcessId id, std::int32_t count, ServerId server) {
    Process* process = find_process(id);
    if (!process || !process->pid || process->being_ended() || process->run->sdk != SdkKind::muster) return;
    // What Muster was told before it had registered is void.
    if (server.value != 0 && std::exchange(process->own_server, server) != server && process->drained)
        orders_.emplace_back(DrainAtMuster{id, true});
    process->own_matches = count;
    process->ask_by.reset();
    if (!process->was_ready) return;
    set_state(*process, count > 0 ? ProcessState::allocated : ProcessState::ready);
    if (process->wish == EndWish::none) return;
    process->asked = true;  // it takes no new match since the wish, so this is the answer
    wish_end(at, *process, process->wish, process->end_reason);
}

bool Supervisor::holds_match(const Process& process) const {
    const bool given = process.match && process.match->stage != Stage::offered;
    return given || process.own_matches > 0 || process.allocated_itself;
}

void Supervisor::update_draining(Process& process) {
    if (!process.registered && process.run->sdk != SdkKind::muster) return;
    const bool draining = draining_ || process.offers_off || process.out_of_reach || process.wish != EndWish::none;
    if (draining == process.drained) return;
    process.drained = draining;
    orders_.emplace_back(DrainAtMuster{process.id, draining});
}

void Supervisor::drain(Moment, bool draining) {
    draining_ = draining;
    for (auto& [place, process] : processes_)
        if (process.pid) update_draining(process);
}

void Supervisor::wish_end(Moment at, Process& process, EndWish wish, std::string_view reason) {
    const bool stronger = wish > process.wish;
    process.wish = std::max(process.wish, wish);
    if (stronger || process.end_reason.empty()) process.end_reason = std::string(reason);
    if (process.being_ended()) return;
    if (!process.lives()) {
        // What it waits for was another config's doing.
        if (wish == EndWish::restart || wish == EndWish::replace) process.pace.reset();
        process.state = ProcessState::stopping;
        return after_exit(at, process, Duration::zero(), false);
    }
    if (!process.pid) return;  // spawned() comes back to it
    if (wish == EndWish::restart) process.pace.reset();
    if (holds_match(process)) {
        if (!process.wish_by) process.wish_by = at.now + process.run->stop_grace_allocated;
        return update_draining(process);
    }
    if (process.run->sdk == SdkKind::muster && process.was_ready && !std::exchange(process.asked, true)) {
        process.ask_by = at.now + ask_patience;
        orders_.emplace_back(AskMatches{process.id});
    }
    if (process.ask_by) return;
    process.end_is_wished = true;
    end(at, process, ProcessState::stopping, std::string(process.end_reason));
}

void Supervisor::end_if_free(Moment at, Process& process) {
    if (process.wish != EndWish::none) return wish_end(at, process, process.wish, process.end_reason);
    // No time limit: a new agent is no reason to end a match.
    const bool free = process.state == ProcessState::ready && !process.offers_off && !process.match;
    if (!process.to_be_replaced || !free || process.being_ended()) return;
    process.end_is_wished = true;
    end(at, process, ProcessState::stopping, std::string(process.replace_reason));
}

void Supervisor::withdraw_wish(Process& process) {
    if (process.being_ended()) {
        process.wish = EndWish::restart;  // it comes back
        return;
    }
    process.wish = EndWish::none;
    process.wish_by.reset();
    process.ask_by.reset();
    process.end_reason.clear();
    if (std::exchange(process.asked, false)) process.drained = true;  // as it was asked
    update_draining(process);
}

void Supervisor::compare_settings(Moment at, Process& process, const Run& run) {
    if (process.state == ProcessState::stopped) return;
    if (process.fingerprint != run.fingerprint) return wish_end(at, process, EndWish::replace, "its config changed");
    if (process.lives()) process.run = run.config;  // that of an adopted one may have been unknown
    if (process.wish == EndWish::replace && !process.being_ended()) withdraw_wish(process);
}

void Supervisor::end(Moment at, Process& process, ProcessState shown, std::string_view reason) {
    process.end_reason = std::string(reason);
    process.wish_by.reset();
    process.ask_by.reset();
    if (process.match && process.match->stage == Stage::offered) {
        orders_.emplace_back(TellMatch{process.id, process.match->match.lobby, Tell::decline});
    }
    // Muster aborts a match that is still here. It hears so before the process is gone.
    process.match.reset();
    leave_muster(process, shown == ProcessState::unhealthy);
    process.kill_at = at.now + process.run->stop_grace;
    set_state(process, shown);
    orders_.emplace_back(StopProcess{process.id, process.run->stop_signal});
}

Result<void, std::string> Supervisor::restart(Moment at, std::string_view name) {
    for (auto& [place, process] : processes_) {
        if (process.name != name) continue;
        if (process.state == ProcessState::stopped || process.wish == EndWish::leave)
            return Failure(fmt::format("{} is stopped; raise the count of {}", name, place.run));
        wish_end(at, process, EndWish::restart, "an operator restarts it");
        return {};
    }
    return Failure(fmt::format("no process {} on this host", name));
}

Result<void, std::string> Supervisor::may_scale(std::string_view name, std::int32_t count) const {
    const auto found = runs_.find(std::string(name));
    if (found == runs_.end() || found->second.gone) return Failure(std::string(no_such_run));
    const std::int32_t most = found->second.config->count_max;
    if (count < 0 || count > most)
        return Failure(fmt::format("the count of {} is 0 to {} (count_max in the agent's config)", name, most));
    return {};
}

Result<void, std::string> Supervisor::scale(Moment at, std::string_view name, std::int32_t count) {
    if (auto may = may_scale(name, count); !may) return may;
    const auto found = runs_.find(std::string(name));
    found->second.wanted = count;
    balance(at, found->first);
    return {};
}

void Supervisor::end_all(Moment at, bool at_once) {
    ending_ = true;
    for (const auto& [name, run] : runs_) balance(at, name);
    if (!at_once) return;
    for (auto& [place, process] : processes_) {
        if (!process.pid) continue;
        if (process.being_ended()) {
            process.kill_at = at.now;  // it was asked already, and nobody waits any more
            continue;
        }
        process.end_is_wished = true;
        end(at, process, ProcessState::stopping, "the agent ends");
    }
}

void Supervisor::balance(Moment at, const std::string& name) {
    const Run& run = runs_.at(name);
    const std::int32_t wanted = ending_ || run.gone ? 0 : run.wanted;
    std::vector<Process*> kept;
    for (auto& [place, process] : processes_) {
        const bool counts = process.state != ProcessState::stopped && process.wish != EndWish::leave;
        if (place.run == name && counts) kept.push_back(&process);
    }
    auto surplus = static_cast<std::int32_t>(kept.size()) - wanted;
    // Who costs least goes first: one that does not run, then one without a match, then the highest number.
    std::sort(kept.begin(), kept.end(), [this](const Process* a, const Process* b) {
        const auto cost = [this](const Process& each) {
            return std::pair(each.lives() ? (holds_match(each) ? 2 : 1) : 0, -each.number);
        };
        return cost(*a) < cost(*b);
    });
    const std::string_view why_one = run.gone ? "its run was removed from the config" : "scaled down";
    for (std::size_t i = 0; surplus > 0; ++i, --surplus)
        wish_end(at, *kept[i], EndWish::leave, ending_ ? "the agent ends" : why_one);
    // Those that are just leaving come back first, then the lowest numbers.
    for (auto& [place, process] : processes_) {
        if (surplus == 0) break;
        if (place.run != name || process.wish != EndWish::leave || place.number > run.config->count_max) continue;
        withdraw_wish(process);
        if (!process.being_ended()) compare_settings(at, process, run);
        ++surplus;
    }
    for (std::int32_t number = 1; surplus < 0 && number <= run.config->count_max; ++number) {
        const auto place = processes_.find({name, number});
        if (place != processes_.end() && place->second.state != ProcessState::stopped) continue;
        Process& process = place == processes_.end() ? add_process({name, number}, run.config) : place->second;
        process.start_at = at.now;
        process.pace.reset();
        set_state(process, ProcessState::backoff);
        ++surplus;
    }
}

void Supervisor::forget_stopped() {
    for (auto each = processes_.begin(); each != processes_.end();) {
        const auto& [place, process] = *each;
        const Run& run = runs_.at(place.run);
        const bool over =
            process.state == ProcessState::stopped && (run.gone || place.number > run.config->count_max) && !ending_;
        if (over) places_.erase(process.id);
        each = over ? processes_.erase(each) : std::next(each);
    }
    for (auto each = runs_.begin(); each != runs_.end();) {
        const bool empty = std::none_of(processes_.begin(), processes_.end(),
                                        [&](const auto& place) { return place.first.run == each->first; });
        each = each->second.gone && empty ? runs_.erase(each) : std::next(each);
    }
}

}  // namespace muster

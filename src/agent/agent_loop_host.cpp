// The loop's other half: what Muster hears of this host, and what operators wish from afar (G-3, G-9, G-12).
#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "agent/agent_loop.h"
#include "base/safe_text.h"
#include "protocol/error_texts.h"

namespace muster {

void AgentLoop::hear_host(Moment at) {
    for (const HostSaid& said : host_side_.take_said())
        std::visit([&](const auto& each) { obey_host(at, each); }, said);
}

void AgentLoop::obey_host(Moment, const HostLinkNews& news) {
    if (news.problem == text(HostRefusal::already_registered))
        return log_.warning(
            "Muster refused this host: {}. Another agent speaks for {}: one that died is gone within 12 s; otherwise "
            "stop it, or give this one another agent.name",
            news.problem, config_.name);
    if (news.by_muster) return log_.warning("Muster refused this host: {}", safe_text(news.problem));
    if (news.online) return log_.info("This host is listed at Muster as {}", config_.name);
    if (news.problem.empty()) return log_.warning("No link to Muster for this host");
    log_.warning("No link to Muster for this host: {}", safe_text(news.problem));
}

void AgentLoop::obey_host(Moment at, const DrainHost& wish) {
    // What is answered with yes, the next agent knows.
    if (!folder_.write_draining(wish.draining)) return refuse_unwritten(wish.question);
    supervisor_.drain(at, wish.draining);
    log_.info("{} (operator request)", wish.draining ? "Draining" : "No longer draining");
    host_side_.answer(wish.question, {});
    next_load_look_ = at.now;  // so that it is told soon
}

void AgentLoop::obey_host(Moment at, const RestartProcess& wish) {
    const auto done = supervisor_.restart(at, wish.process.view());
    if (done) log_.info("Restarting process {} (operator request)", wish.process.view());
    host_side_.answer(wish.question, done ? std::string_view() : std::string_view(done.error()));
}

void AgentLoop::obey_host(Moment at, const ScaleRun& wish) {
    if (const auto may = supervisor_.may_scale(wish.run.view(), wish.count); !may)
        return host_side_.answer(wish.question, may.error());
    auto counts = operator_counts_;
    counts[wish.run.string()] = {wish.count, configured_count(wish.run.view()).value_or(0)};
    if (!folder_.write_counts(counts)) return refuse_unwritten(wish.question);
    operator_counts_ = std::move(counts);
    const std::int32_t before = supervisor_.wanted(wish.run.view()).value_or(0);
    (void)supervisor_.scale(at, wish.run.view(), wish.count);
    log_.info("Scaled {} from {} to {} {} (operator request)", wish.run.view(), before, wish.count,
              wish.count == 1 ? "process" : "processes");
    host_side_.answer(wish.question, {});
}

void AgentLoop::restore_counts(Moment at) {
    for (const auto& [run, set] : folder_.counts())
        if (configured_count(run) == set.config && supervisor_.scale(at, run, set.count)) operator_counts_[run] = set;
}

std::optional<std::int32_t> AgentLoop::configured_count(std::string_view run) const {
    const auto found = std::find_if(config_.runs.begin(), config_.runs.end(),
                                    [run](const RunConfig& each) { return each.name == run; });
    return found == config_.runs.end() ? std::nullopt : std::optional(found->count);
}

void AgentLoop::refuse_unwritten(std::uint32_t question) {
    log_.warning("Refused an operator's request: the state folder {} cannot be written", folder_.path().string());
    host_side_.answer(question, "the agent cannot write its state folder; is its disk full? Nothing has changed");
}

void AgentLoop::obey_host(Moment, const ReadLog& wish) {
    if (!supervisor_.find(wish.process.view()))
        return host_side_.answer(wish.question, "no process " + safe_text(wish.process.view()) + " on this host");
    auto bytes = static_cast<std::size_t>(std::clamp<std::int32_t>(wish.bytes, 1, log_bytes_most));
    ProcessLog::Piece piece = host_.read_log(wish.process.view(), wish.from, bytes);
    std::string safe = safe_output(piece.text);
    // What was made harmless has grown. Whoever reads on gets less at a time; otherwise the end is what is wanted.
    while (wish.from >= 0 && safe.size() > log_bytes_most) {
        bytes /= 2;
        piece = host_.read_log(wish.process.view(), wish.from, bytes);
        safe = safe_output(piece.text);
    }
    if (safe.size() > log_bytes_most) safe = last_lines_of(safe, log_bytes_most);
    host_side_.send_log(wish.question, safe, piece.end);
}

void AgentLoop::obey_host(Moment at, const ProcessMatches& told) {
    const Process* process = supervisor_.find(told.process.view());
    if (!process || process->run->sdk != SdkKind::muster) return;
    reports_.registered(process->id, process->pid ? told.server : ServerId{});
    supervisor_.matches_held(at, process->id, told.matches, told.server);
    report_process(*process, ReportedNews::none);
}

// It comes on another link than the offer, so either may be first.
void AgentLoop::obey_host(Moment, const HostMatchPlayers& told) {
    if (listed_.size() >= listed_most && !listed_.contains(told.lobby)) listed_.erase(listed_.begin());
    listed_[told.lobby] = told.accounts.items;
    for (const auto& [process, sdk] : sdks_) sdk.side->set_players(told.lobby, told.accounts.items);
}

void AgentLoop::do_order(Moment at, const AskMatches& order) {
    const Process* process = supervisor_.find(order.process);
    if (!process) return;
    // Without a link what was heard last must do.
    if (!host_side_.online()) return supervisor_.matches_held(at, order.process, process->own_matches);
    host_side_.ask_matches(process->name, true);
}

void AgentLoop::report_process(const Process& process, ReportedNews news) {
    host_side_.tell(reports_.of(process, news));
}

void AgentLoop::report_host() {
    for (const std::string& gone : reports_.take_gone(supervisor_.processes())) host_side_.forget(gone);
    const HostFigures figures = meter_.read();
    host_side_.tell(HostReport{static_cast<float>(figures.cpu_percent), static_cast<float>(figures.memory_percent),
                               supervisor_.draining()});
}

}  // namespace muster

#include "agent/host_link.h"

#include <algorithm>
#include <concepts>
#include <utility>

#include <fmt/format.h>

namespace muster {

HostLink::HostLink(HostLinkOptions options, OnSaid on_said)
    : options_(std::move(options)), on_said_(std::move(on_said)), link_(default_byte_order(Port::servers)) {}

void HostLink::tell(const ProcessReport& report) {
    ProcessReport& present = processes_[report.process.string()];
    present = report;
    present.news = ReportedNews::none;
    if (link_.online()) return link_.send(report);
    if (report.news == ReportedNews::none) return;
    news_.push_back(report);
    if (news_.size() > news_kept_max) news_.pop_front();
}

void HostLink::forget(const std::string& process) {
    processes_.erase(process);
    std::erase_if(news_, [&process](const ProcessReport& each) { return each.process == process; });
    answer(ProcessGone{ProcessNameText(process)});
}

void HostLink::tell(const HostReport& report) {
    host_ = report;
    const bool first = !std::exchange(host_known_, true);
    if (!link_.online()) return;
    // The first one ends the list of processes, so that is told with it.
    if (first) return tell_everything();
    link_.send(host_);
    if (!answer_by_) answer_by_ = now_ + answer_max;
}

void HostLink::goodbye() {
    if (link_.online()) link_.send(HostGoodbye{});
    link_.close();
    answer_by_.reset();
}

void HostLink::connected(sdk::Time now) {
    now_ = now;
    if (!link_.connected(now)) return;
    link_.send(HostHello{HandshakeTokenText(options_.token), HostNameText::cut(options_.name), IpText(options_.address),
                         options_.region, VersionText::cut(options_.version)});
}

void HostLink::disconnected(sdk::Time now) {
    now_ = now;
    link_.disconnected(now);
    answer_by_.reset();
    say_offline();
}

void HostLink::receive(std::span<const std::byte> bytes, sdk::Time now) {
    now_ = now;
    const auto fault = link_.receive<Port::servers>(bytes, [this](const auto& message) { take(message); });
    if (fault) say_offline(fmt::format("Muster sent what is no message: {}", to_string(*fault)));
}

void HostLink::tick(sdk::Time now) {
    now_ = now;
    link_.tick(now);
    if (answer_by_ && *answer_by_ <= now) {
        answer_by_.reset();
        link_.drop();
        say_offline("Muster does not answer");
    }
}

std::optional<sdk::Time> HostLink::next_tick() const {
    const auto next = link_.next_tick();
    if (!next || !answer_by_) return next ? next : answer_by_;
    return std::min(*next, *answer_by_);
}

void HostLink::take(const HostWelcome& welcome) {
    if (link_.stage() != sdk::Link::Stage::greeting) return;
    if (const auto* refused = std::get_if<Refused>(&welcome.answer)) {
        say_offline(refused->error.view());
        return link_.drop();
    }
    link_.greeted();
    was_online_ = true;
    last_problem_.clear();
    on_said_(HostLinkNews{.online = true});
    if (host_known_) tell_everything();
}

void HostLink::tell_everything() {
    for (const ProcessReport& report : std::exchange(news_, {})) link_.send(report);
    for (const auto& [name, report] : processes_) link_.send(report);
    link_.send(host_);
    if (!answer_by_) answer_by_ = now_ + answer_max;
}

void HostLink::take(const HostReportAck&) {
    link_.proven();
    answer_by_.reset();
}

void HostLink::take(const ServerError& error) {
    if (error.error.view() == last_problem_) return;
    last_problem_ = error.error.string();
    on_said_(HostLinkNews{.online = link_.online(), .problem = last_problem_});
}

template <class M>
void HostLink::take(const M& message) {
    if constexpr (std::constructible_from<HostSaid, const M&> && HostMessage<M>) {
        if (link_.online()) on_said_(HostSaid(message));
    }
}

// Once for each loss, and once for each new reason.
void HostLink::say_offline(std::string_view problem) {
    const bool lost = std::exchange(was_online_, false);
    if (!lost && (problem.empty() || problem == last_problem_)) return;
    if (!problem.empty()) last_problem_ = problem;
    on_said_(HostLinkNews{.online = false, .problem = std::string(problem)});
}

}  // namespace muster

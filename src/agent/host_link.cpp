#include "agent/host_link.h"

#include <algorithm>
#include <concepts>
#include <set>
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
    say_offline({});
}

void HostLink::failed(std::string_view address, const sdk::Outcome& why) {
    // Whom we give up ourselves is gone for another reason, which was told.
    if (link_.stage() == sdk::Link::Stage::dropping) return;
    say_offline({.problem = fmt::format("{}: {}", address, why.text)}, std::string(address));
}

void HostLink::receive(std::span<const std::byte> bytes, sdk::Time now) {
    now_ = now;
    const auto fault = link_.receive<Port::servers>(bytes, [this](const auto& message) { take(message); });
    if (fault) say_offline({.problem = fmt::format("Muster sent what is no message: {}", to_string(*fault))});
}

void HostLink::tick(sdk::Time now) {
    now_ = now;
    const bool greeting = link_.stage() == sdk::Link::Stage::greeting;
    link_.tick(now);
    if (greeting && link_.stage() == sdk::Link::Stage::dropping)
        say_offline({.problem = "nobody answers the hello; is it Muster's server port?"});
    if (answer_by_ && *answer_by_ <= now) {
        answer_by_.reset();
        link_.drop();
        say_offline({.problem = "Muster does not answer"});
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
        say_offline({.problem = refused->error.string(), .by_muster = true});
        return link_.drop();
    }
    link_.greeted();
    was_online_ = true;
    told_.clear();
    on_said_(HostLinkNews{.online = true});
    if (host_known_) tell_everything();
}

void HostLink::tell_everything() {
    std::set<std::string> gone;  // and yet in the news
    for (const ProcessReport& report : std::exchange(news_, {})) {
        link_.send(report);
        if (!processes_.contains(report.process.string())) gone.insert(report.process.string());
    }
    for (const std::string& process : gone) link_.send(ProcessGone{ProcessNameText(process)});
    for (const auto& [name, report] : processes_) link_.send(report);
    link_.send(host_);
    if (!answer_by_) answer_by_ = now_ + answer_max;
}

void HostLink::take(const HostReportAck&) {
    link_.proven();
    answer_by_.reset();
}

void HostLink::take(const ServerError& error) {
    if (std::exchange(told_[""], error.error.string()) == error.error.view()) return;
    on_said_(HostLinkNews{.online = link_.online(), .problem = error.error.string(), .by_muster = true});
}

template <class M>
void HostLink::take(const M& message) {
    if constexpr (std::constructible_from<HostSaid, const M&> && HostMessage<M>) {
        if (link_.online()) on_said_(HostSaid(message));
    }
}

// Once for each loss, and once for each new reason.
void HostLink::say_offline(HostLinkNews news, const std::string& address) {
    const bool lost = std::exchange(was_online_, false);
    const bool is_new = !news.problem.empty() && std::exchange(told_[address], news.problem) != news.problem;
    if (lost || is_new) on_said_(std::move(news));
}

}  // namespace muster

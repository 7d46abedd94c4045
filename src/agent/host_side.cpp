#include "agent/host_side.h"

#include <algorithm>
#include <utility>

#include "agent/muster_side.h"
#include "protocol/text.h"

namespace muster {

HostSide::HostSide(HostLinkOptions options, std::vector<std::string> join, sdk::TcpRunner& runner, const AgentTls& tls,
                   std::function<void()> wake)
    : join_(std::move(join)),
      wake_(std::move(wake)),
      runner_(runner),
      tls_(tls),
      link_(std::make_unique<HostLink>(std::move(options), [this](HostSaid said) {
          {
              const std::lock_guard lock(mutex_);
              said_.push_back(std::move(said));
          }
          wake_();
      })) {
    tls_.add(runner_, *link_, join_.front());
}

template <class Command>
void HostSide::command(Command command) {
    HostLink* link = link_.get();
    runner_.post(*link, [link, command = std::move(command)] { command(*link); });
}

void HostSide::tell(const ProcessReport& report) {
    command([report](HostLink& link) { link.tell(report); });
}

void HostSide::forget(const std::string& process) {
    command([process](HostLink& link) { link.forget(process); });
}

void HostSide::tell(const HostReport& report) {
    command([report](HostLink& link) { link.tell(report); });
}

void HostSide::answer(std::uint32_t question, std::string_view refusal) {
    command([answer = HostAnswer{question, refusal.empty(), ErrorText::cut(refusal)}](HostLink& link) {
        link.answer(answer);
    });
}

void HostSide::send_log(std::uint32_t question, std::string_view text, std::int64_t position) {
    command([question, text = std::string(text), position](HostLink& link) {
        std::string_view rest = text;
        do {
            const std::string_view part = utf8_start(rest, LogText::size_max);
            rest.remove_prefix(part.size());
            link.answer(HostLogPart{question, position, rest.empty() || part.empty(), LogText(part)});
            if (part.empty()) return;
        } while (!rest.empty());
    });
}

void HostSide::ask_matches(const std::string& process, bool draining) {
    command([ask = ProcessDraining{ProcessNameText(process), draining}](HostLink& link) { link.answer(ask); });
}

void HostSide::goodbye() {
    command([](HostLink& link) { link.goodbye(); });
}

std::vector<HostSaid> HostSide::take_said() {
    std::vector<HostSaid> all;
    {
        const std::lock_guard lock(mutex_);
        all.swap(said_);
    }
    for (const HostSaid& each : all)
        if (const auto* news = std::get_if<HostLinkNews>(&each)) {
            online_ = news->online;
            problem_ = news->problem;
        }
    return all;
}

void HostSide::tidy(Time now) {
    if (online_ || since_ == Time{}) since_ = now;
    if (join_.size() < 2 || now - since_ < MusterSide::address_patience) return;
    since_ = now;
    address_ = (address_ + 1) % join_.size();
    runner_.remove(*link_);
    tls_.add(runner_, *link_, join_[address_]);
}

}  // namespace muster

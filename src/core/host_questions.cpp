// What operators ask of the agents of hosts, and what comes of it (G-3).
#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/hosts.h"

namespace muster {

void Hosts::ask(std::uint64_t number, std::string_view name, HostCommand command) {
    using Kind = HostVerdict::Kind;
    const auto known = by_name_.find(name);
    if (known == by_name_.end()) return verdicts_.push_back({number, Kind::no_host});
    const KnownHost& host = hosts_.at(known->second);
    const auto names_unknown = [&host](const auto& wish) {
        using Wish = std::decay_t<decltype(wish)>;
        if constexpr (std::same_as<Wish, RestartProcess> || std::same_as<Wish, ReadLog>) {
            return !host.processes.contains(wish.process.view());
        }
        return false;
    };
    if (std::visit(names_unknown, command)) return verdicts_.push_back({number, Kind::no_process});
    if (!host.connected()) return verdicts_.push_back({number, Kind::away});
    const auto waiting = std::count_if(questions_.begin(), questions_.end(),
                                       [&host](const auto& each) { return each.second.host == host.number; });
    if (static_cast<std::size_t>(waiting) >= questions_of_host_max) return verdicts_.push_back({number, Kind::busy});

    const std::uint32_t question = next_question_++;
    const TimerId limit = parts_.timers.start({.first_delay = answer_limit},
                                              [this, question](const TimerFired&) { settle(question, Kind::late); });
    questions_[question] = {number, host.number, {}, limit};
    std::visit(
        [&](auto& wish) {
            wish.question = question;
            parts_.links.send(host.link, wish);
        },
        command);
}

void Hosts::answered(HostNumber number, const HostAnswer& answer) {
    const auto found = questions_.find(answer.question);
    if (found == questions_.end() || found->second.host != number) return;
    settle(answer.question, answer.done ? HostVerdict::Kind::done : HostVerdict::Kind::refused, answer.error.string());
}

void Hosts::log_part(HostNumber number, const HostLogPart& part) {
    const auto found = questions_.find(part.question);
    if (found == questions_.end() || found->second.host != number) return;
    std::string& text = found->second.text;
    const std::size_t room =
        static_cast<std::size_t>(log_bytes_max) - std::min<std::size_t>(text.size(), log_bytes_max);
    text += utf8_start(part.text.view(), room);
    if (part.last) settle(part.question, HostVerdict::Kind::done, std::move(text), part.position);
}

void Hosts::settle(std::uint32_t question, HostVerdict::Kind kind, std::string text, std::int64_t position) {
    const auto found = questions_.find(question);
    if (found == questions_.end()) return;
    parts_.timers.cancel(found->second.limit);
    verdicts_.push_back({found->second.asker, kind, std::move(text), position});
    questions_.erase(found);
}

void Hosts::settle_all(HostNumber number) {
    std::vector<std::uint32_t> open;
    for (const auto& [question, each] : questions_)
        if (each.host == number) open.push_back(question);
    for (const std::uint32_t question : open) settle(question, HostVerdict::Kind::away);
}

}  // namespace muster

// How a game server takes offers: at once as a rule, sometimes not at all, and sometimes too late.
#include <fmt/core.h>

#include "honest_server.h"

namespace muster::storm {

void HonestServer::offered(const AllocateMatch& offer) {
    const std::int32_t lobby = offer.lobby.value;
    // An offer from before it drained was on the disk before, and so was told before.
    if (drains_ && !holds_.contains(lobby))
        stage_.judge.object(fmt::format("{} drains, and was offered lobby {}", name(), lobby));
    Hold& hold = holds_[lobby];
    const bool fresh = hold.token != offer.token.view();
    if (fresh) hold = {};
    hold.token = offer.token.view();
    if (fresh) {
        stage_.judge.object(stage_.book.offered(lobby, self(hold)));
        constexpr double hesitates = 0.02;
        Lobby* known = stage_.book.find(lobby);
        if (known && !known->hesitated && stage_.random.chance(hesitates)) {
            known->hesitated = true;
            return hesitate(lobby, hold.token);
        }
    }
    later(2ms, 40ms, [this, lobby] { acknowledge(lobby); });
}

void HonestServer::acknowledge(std::int32_t lobby) {
    const auto found = holds_.find(lobby);
    if (found == holds_.end()) return;
    Hold& hold = found->second;
    constexpr double declines = 0.02;
    const bool declined = LobbyBook::unwanted(lobby) || stage_.random.chance(declines);
    const bool accept = hold.step != Step::offered || !declined;
    stage_.links.send(link_, AllocateMatchAck{accept, LobbyId(lobby)});
    if (!accept) {
        holds_.erase(found);
        return;
    }
    if (hold.step != Step::offered) return;  // it holds it already, and says yes again
    hold.step = Step::taken;
    stage_.book.taken(lobby, self(hold));
    later(5ms, 150ms, [this, lobby] { report_ready(lobby); });
}

// It decides when its time is just over and the offer is with another, or when it must have been told so.
void HonestServer::hesitate(std::int32_t lobby, const std::string& token) {
    const Span time = stage_.pace.acknowledgement;
    if (stage_.random.chance(0.5)) return later(time, time + 60ms, [this, lobby, token] { take_late(lobby, token); });
    wait_for_word(lobby, token, now());
}

void HonestServer::wait_for_word(std::int32_t lobby, const std::string& token, Moment offered_at) {
    const Span left = stage_.pace.acknowledgement + stage_.pace.word_most - stage_.weather.running(offered_at, now());
    if (left > Span{0}) {
        return later(left, left + 10ms, [this, lobby, token, offered_at] { wait_for_word(lobby, token, offered_at); });
    }
    const bool told = !holds_.contains(lobby);
    if (!told && !stage_.weather.met({Trouble::backlog}, offered_at, now()))
        stage_.judge.object(fmt::format("{} was not told that its offer of lobby {} was withdrawn", name(), lobby));
    take_late(lobby, token);
    if (told) wait_to_drop(lobby, token, now());
}

// Says yes whatever it was told meanwhile, as one that decides in a thread of its own.
void HonestServer::take_late(std::int32_t lobby, const std::string& token) {
    stage_.links.send(link_, AllocateMatchAck{true, LobbyId(lobby)});
    Hold& hold = holds_[lobby];
    if (hold.step != Step::offered) return;  // offered anew, and taken
    hold.token = token;
    hold.step = Step::taken;
    stage_.book.taken(lobby, self(hold));
    // In time after all, perhaps: then it is its own.
    const Span a_while = 2 * stage_.pace.word_most;
    later(a_while, a_while + 100ms, [this, lobby, token] {
        const auto held = holds_.find(lobby);
        if (held != holds_.end() && held->second.token == token && held->second.step == Step::taken)
            report_ready(lobby);
    });
}

// The offer that it took was another's by then.
void HonestServer::wait_to_drop(std::int32_t lobby, const std::string& token, Moment taken_at) {
    using enum Trouble;
    const auto held = holds_.find(lobby);
    if (held == holds_.end() || held->second.token != token) return;
    // Its match may be over, which may have to be on the disk first.
    if (stage_.weather.met({slow_disk, full_disk, backlog}, taken_at, now())) return;
    const Span left = stage_.pace.word_most - stage_.weather.running(taken_at, now());
    if (left > Span{0}) {
        return later(left, left + 10ms, [this, lobby, token, taken_at] { wait_to_drop(lobby, token, taken_at); });
    }
    stage_.judge.object(fmt::format("{} took lobby {} after its time, and was not told to drop it", name(), lobby));
}

}  // namespace muster::storm

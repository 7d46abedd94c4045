#include "core/match_news.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/planted.h"

namespace muster {
namespace {

// Beside its reason: length, code, lobby, event, the reason's length.
constexpr std::size_t notice_bytes = 2 + 2 + 4 + 1 + 2;

bool is_told_over_http(const MatchRecord& match) {
    return is_http_matchmaker(match.matchmaker);  // it reads what becomes of its matches in the API
}

}  // namespace

std::optional<MatchEventKind> event_of(MatchState state) {
    switch (state) {
        case MatchState::ready:
            return MatchEventKind::ready;
        case MatchState::started:
            return MatchEventKind::started;
        case MatchState::ended:
            return MatchEventKind::ended;
        case MatchState::aborted:
            return MatchEventKind::aborted;
        case MatchState::offering:
        case MatchState::allocated:
            break;
    }
    return std::nullopt;
}

void MatchNews::recover(const Pass& pass, std::span<const MatchRecord> matches) {
    std::vector<const MatchRecord*> over;
    for (const MatchRecord& match : matches) {
        const bool is_over = match.state == MatchState::ended || match.state == MatchState::aborted;
        if (is_over && match.untold_event != 0) over.push_back(&match);
    }
    std::sort(over.begin(), over.end(), [](const MatchRecord* one, const MatchRecord* other) {
        return std::pair(one->ended_at, one->lobby) < std::pair(other->ended_at, other->lobby);
    });
    for (const MatchRecord* match : over) {
        by_matchmaker_[match->matchmaker].over.push_back(
            {match->lobby, *event_of(match->state), match->reason, match->ended_at, pass.now, {}, {}});
        ++size_;
    }
    drop_beyond_limit();
}

void MatchNews::tell(const MatchRecord& match) {
    const auto kind = event_of(match.state);
    const Link* link = link_of(match.matchmaker);
    if (kind && link) send(link->id, match.lobby, *kind, match.reason);
}

void MatchNews::tell_over(const Pass& pass, const MatchRecord& match, ConnectionId answered) {
    if (is_told_over_http(match)) return;
    const Link* link = link_of(match.matchmaker);
    if (link && link->id != answered) send(link->id, match.lobby, *event_of(match.state), match.reason);
    if (link && planted(Bug::event_told_when_queued)) return ledger_.write(EventTold{match.lobby});
    by_matchmaker_[match.matchmaker].over.push_back({match.lobby, *event_of(match.state), match.reason, match.ended_at,
                                                     pass.now, pass.now, link ? link->id : ConnectionId{}});
    ++size_;
    drop_beyond_limit();
}

const Link* MatchNews::link_of(std::string_view matchmaker) const {
    const Matchmaker* known = matchmakers_.find(matchmaker);
    const Link* link = known ? links_.find(known->link) : nullptr;
    return link && !link->closing ? link : nullptr;
}

void MatchNews::send(ConnectionId link, LobbyId lobby, MatchEventKind kind, std::string_view reason) {
    // Behind the lobby's 2003, should that wait for an answer before it.
    replies_.tell(link, lobby, MatchEventNotice{lobby, kind, ReasonText::cut(reason)});
}

void MatchNews::matchmaker_back(const Matchmaker& matchmaker) {
    Again again;
    again.link = matchmaker.link;
    again_.insert_or_assign(matchmaker.id, again);
}

void MatchNews::drained(ConnectionId link) {
    for (auto& [matchmaker, again] : again_) {
        if (again.link == link) again.draining = false;
    }
}

std::size_t MatchNews::update(const Pass& pass) {
    std::size_t done = 0;
    for (auto next = again_.begin(); next != again_.end();) {
        auto& [matchmaker, again] = *next;
        const Link* link = link_of(matchmaker);
        const bool gone = !link || link->id != again.link;
        if (!gone && !again.draining) done += tell_again(pass, matchmaker, again);
        const auto of = by_matchmaker_.find(matchmaker);
        const bool all_told =
            again.alive_done && !again.draining &&
            (of == by_matchmaker_.end() || again.next_over >= of->second.first_over + of->second.over.size());
        next = gone || all_told ? again_.erase(next) : std::next(next);
    }
    return done;
}

// One portion. What is not looked at in this one comes in the next pass, or when this one has left.
std::size_t MatchNews::tell_again(const Pass& pass, const std::string& matchmaker, Again& again) {
    std::size_t bytes = 0;
    std::size_t done = 0;
    const auto tell_one = [&](LobbyId lobby, MatchEventKind kind, std::string_view reason) {
        send(again.link, lobby, kind, reason);
        if (!planted(Bug::news_all_at_once)) bytes += notice_bytes + reason.size();
        ++done;
    };
    std::size_t left = portion_matches;
    while (!again.alive_done && left > 0 && bytes < portion_) {
        std::size_t one = 1;
        --left;
        ++done;
        again.alive_done = matches_.visit_after(again.last_alive, one, [&](const Match& match) {
            again.last_alive = match.lobby();
            const auto kind = event_of(match.record.state);
            if (kind && match.answered && match.record.matchmaker == matchmaker)
                tell_one(match.lobby(), *kind, match.record.reason);
        });
    }
    if (const auto of = by_matchmaker_.find(matchmaker); of != by_matchmaker_.end() && again.alive_done) {
        OfMatchmaker& news = of->second;
        again.next_over = std::max(again.next_over, news.first_over);
        while (again.next_over < news.first_over + news.over.size() && bytes < portion_) {
            Over& over = news.over[again.next_over - news.first_over];
            tell_one(over.lobby, over.kind, over.reason);
            over.told = pass.now;
            over.link = again.link;
            ++again.next_over;
        }
    }
    if (bytes >= portion_) {
        again.draining = true;
        links_.report_drained(again.link);
    }
    return done;
}

void MatchNews::prune(const Pass& pass) {
    for (auto next = by_matchmaker_.begin(); next != by_matchmaker_.end();) {
        OfMatchmaker& of = next->second;
        const Link* link = link_of(next->first);
        while (!of.over.empty()) {
            const Over& first = of.over.front();
            const bool heard = link && first.link == link->id && pass.now - first.told >= Duration(heard_after);
            if (!heard && pass.now - first.noted < Duration(kept)) break;
            if (!heard) ++dropped_;
            forget_oldest(of);
        }
        next = of.over.empty() ? by_matchmaker_.erase(next) : std::next(next);
    }
}

void MatchNews::forget_oldest(OfMatchmaker& of) {
    ledger_.write(EventTold{of.over.front().lobby});
    of.over.pop_front();
    ++of.first_over;
    --size_;
}

// Those who have been away for longest have the oldest news.
void MatchNews::drop_beyond_limit() {
    while (size_ > lobbies_max && !planted(Bug::untold_events_pile_up)) {
        const auto oldest = std::min_element(by_matchmaker_.begin(), by_matchmaker_.end(), [](auto& one, auto& other) {
            const auto age = [](const OfMatchmaker& of) {
                return of.over.empty() ? UnixMs{INT64_MAX} : of.over.front().at;
            };
            return age(one.second) < age(other.second);
        });
        forget_oldest(oldest->second);
        ++dropped_;
    }
}

}  // namespace muster

#include "core/replies.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace muster {

ReplyTo Replies::expect(ConnectionId link, LobbyId lobby, Code kind) {
    const ReplyTo to{link, lobby, next_number_++};
    OfLink& of = of_link_[link];
    ++of.waiting;
    const Key key{link, lobby, to.number};
    const auto next = waiting_.lower_bound(key);
    if (is_behind(key, next)) {
        ++of.behind;
        ++behind_;
        look_for_flood(link, of);
    }
    waiting_.emplace_hint(next, key, Place{.kind = kind});
    return to;
}

bool Replies::join(ConnectionId link, LobbyId lobby, Code kind) {
    const Key beyond{link, lobby, next_number_};
    const auto next = waiting_.lower_bound(beyond);
    if (!is_behind(beyond, next)) return false;
    Place& last = std::prev(next)->second;
    if (last.known || last.kind != kind) return false;
    ++last.times;
    return true;
}

void Replies::answer(const ReplyTo& to, LobbyId lobby, const AllocationVerdict& verdict, bool first) {
    if (verdict) promised_ = true;
    if (!to.over_link()) {
        answered_.push_back({to.number, verdict});
    } else if (verdict) {
        put(to, AllocationResponse{*verdict}, first);
    } else {
        answer(to, AllocationResponse{LobbyRefused{lobby, ErrorText(text(verdict.error()))}});
    }
}

void Replies::answer_list(const ReplyTo& to, LobbyId lobby, const Result<void, Refusal>& verdict) {
    if (!to.over_link()) {
        AllocationResponse::Accepted taken;
        taken.lobby = lobby;
        answered_.push_back({to.number, verdict ? AllocationVerdict(taken) : Failure(verdict.error())});
    } else if (verdict) {
        answer(to, MatchPlayersResponse{LobbyAccepted{lobby}});
    } else {
        answer(to, MatchPlayersResponse{LobbyRefused{lobby, ErrorText(text(verdict.error()))}});
    }
}

bool Replies::waits(ConnectionId link, LobbyId lobby) const {
    const auto found = first(link, lobby);
    return found != waiting_.end() && found->first.is_beside({link, lobby});
}

bool Replies::holds_back(ConnectionId link, LobbyId lobby) const {
    for (auto place = first(link, lobby); place != waiting_.end() && place->first.is_beside({link, lobby}); ++place) {
        if (place->second.before_news) return true;
    }
    return false;
}

// The same answer as the one before it, which waits: then that one leaves more often, and this one is gone.
void Replies::merge(Places::iterator place) {
    Place& before = std::prev(place)->second;
    const Place& now = place->second;
    if (!before.known || before.before_news != now.before_news || before.frame != now.frame) return;
    before.times += now.times;
    erase(place);
}

// Those that are known, from the first about the lobby on.
void Replies::leave(ConnectionId link, LobbyId lobby, Places::iterator first) {
    for (auto place = first; place != waiting_.end() && place->first.is_beside({link, lobby}) && place->second.known;
         place = erase(place)) {
        for (std::uint32_t i = 0; i < place->second.times; ++i) links_.send_frame(link, place->second.frame);
    }
}

Replies::Places::iterator Replies::erase(Places::iterator place) {
    const Key key = place->first;
    const auto of = of_link_.find(key.link);
    const auto next = waiting_.erase(place);
    const bool one_after = next != waiting_.end() && next->first.is_beside(key);
    if (one_after || is_behind(key, next)) {
        --of->second.behind;
        --behind_;
    }
    --of->second.waiting;
    return next;
}

void Replies::look_for_flood(ConnectionId link, const OfLink& of) {
    const Link* asks = links_.find(link);
    const bool is_server = asks && asks->port == Port::servers;
    if (of.behind > (is_server ? behind_of_server_max : behind_of_matchmaker_max)) {
        flooding_.push_back(link);
    } else if (behind_ > behind_max) {
        // Of several with as many, the one with the least id.
        const auto most = std::ranges::max_element(of_link_, [](const auto& one, const auto& other) {
            if (one.second.behind != other.second.behind) return one.second.behind < other.second.behind;
            return other.first < one.first;
        });
        flooding_.push_back(most->first);
    }
}

void Replies::closed(ConnectionId link) {
    const auto of = of_link_.find(link);
    if (of == of_link_.end()) return;
    behind_ -= of->second.behind;
    of_link_.erase(of);
    const auto begin = waiting_.lower_bound({link, LobbyId(std::numeric_limits<std::int32_t>::min())});
    auto end = begin;
    while (end != waiting_.end() && end->first.link == link) ++end;
    waiting_.erase(begin, end);
}

std::size_t Replies::size(ConnectionId link) const {
    const auto of = of_link_.find(link);
    return of == of_link_.end() ? 0 : of->second.waiting;
}

}  // namespace muster

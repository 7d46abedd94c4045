#include "core/replies.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace muster {

ReplyTo Replies::expect(ConnectionId link, LobbyId lobby, Code kind) {
    const ReplyTo to{link, lobby, next_number_++};
    OfLink& of = of_link_[link];
    ++of.waiting;
    if (waits(link, lobby)) {
        ++of.behind;
        ++behind_;
        look_for_flood(link, of);
    }
    waiting_.emplace(Key{link, lobby, to.number}, Place{.kind = kind});
    return to;
}

bool Replies::join(ConnectionId link, LobbyId lobby, Code kind) {
    const Key beyond{link, lobby, next_number_};
    const auto next = waiting_.lower_bound(beyond);
    if (next == waiting_.begin()) return false;
    const auto last = std::prev(next);
    if (!last->first.is_beside(beyond) || last->second.known || last->second.kind != kind) return false;
    ++last->second.times;
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
bool Replies::merge(Places::iterator place) {
    if (place == waiting_.begin()) return false;
    const auto before = std::prev(place);
    if (!before->first.is_beside(place->first) || !before->second.known) return false;
    if (before->second.before_news != place->second.before_news || before->second.frame != place->second.frame)
        return false;
    before->second.times += place->second.times;
    erase(place);
    return true;
}

void Replies::leave(ConnectionId link, LobbyId lobby) {
    const Key order{link, lobby};
    for (auto place = waiting_.lower_bound(order);
         place != waiting_.end() && place->first.is_beside(order) && place->second.known; place = erase(place)) {
        for (std::uint32_t i = 0; i < place->second.times; ++i) links_.send_frame(link, place->second.frame);
    }
}

Replies::Places::iterator Replies::erase(Places::iterator place) {
    const Key key = place->first;
    const auto of = of_link_.find(key.link);
    const auto next = waiting_.erase(place);
    const bool one_after = next != waiting_.end() && next->first.is_beside(key);
    const bool one_before = next != waiting_.begin() && std::prev(next)->first.is_beside(key);
    if (one_after || one_before) {
        --of->second.behind;
        --behind_;
    }
    if (--of->second.waiting == 0) of_link_.erase(of);
    return next;
}

void Replies::look_for_flood(ConnectionId link, const OfLink& of) {
    const Link* asks = links_.find(link);
    const bool is_server = asks && asks->port == Port::servers;
    if (of.behind > (is_server ? behind_of_server_max : behind_of_matchmaker_max)) {
        flooding_.push_back(link);
    } else if (behind_ > behind_max) {
        const auto most = std::ranges::max_element(of_link_, {}, [](const auto& one) { return one.second.behind; });
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

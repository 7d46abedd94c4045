#include "core/replies.h"

#include <algorithm>
#include <limits>

namespace muster {

ReplyTo Replies::expect(ConnectionId link, LobbyId lobby) {
    const ReplyTo to{link, lobby, next_number_++};
    waiting_[{link, lobby}].push_back({to.number});
    return to;
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

Replies::Place* Replies::find(const ReplyTo& to) {
    const auto order = waiting_.find({to.link, to.lobby});
    if (order == waiting_.end()) return nullptr;
    // By number, which grows: a peer that asks for one lobby thousands of times must not make each answer a walk.
    const auto place = std::lower_bound(order->second.begin(), order->second.end(), to.number,
                                        [](const Place& one, std::uint64_t number) { return one.number < number; });
    return place == order->second.end() || place->number != to.number ? nullptr : &*place;
}

bool Replies::holds_back(ConnectionId link, LobbyId lobby) const {
    const auto order = waiting_.find({link, lobby});
    return order != waiting_.end() && std::ranges::any_of(order->second, &Place::before_news);
}

void Replies::leave(const Order& order) {
    const auto found = waiting_.find(order);
    std::deque<Place>& places = found->second;
    while (!places.empty() && places.front().known) {
        links_.send_frame(order.first, places.front().frame);
        places.pop_front();
    }
    if (places.empty()) waiting_.erase(found);
}

void Replies::closed(ConnectionId link) {
    const auto first = waiting_.lower_bound({link, LobbyId(std::numeric_limits<std::int32_t>::min())});
    auto last = first;
    while (last != waiting_.end() && last->first.first == link) ++last;
    waiting_.erase(first, last);
}

std::size_t Replies::size() const {
    std::size_t count = 0;
    for (const auto& [order, places] : waiting_) count += places.size();
    return count;
}

}  // namespace muster

#include "crowd.h"

#include <algorithm>

namespace muster::storm {
namespace {

constexpr Span sweep_every = 250ms;
// A turn that comes later than this was kept from running: what peers then miss is the storm's own fault.
constexpr Span late_most = 700ms;

}  // namespace

Crowd::Crowd(const CrowdSize& size, Weather& weather, Judge& judge, std::uint64_t seed)
    : weather_(weather),
      judge_(judge),
      book_(weather, {}),
      links_(size.servers + size.matchmakers + size.players, *this),
      stage_{links_, agenda_, weather, judge, book_, Random(seed)} {
    std::size_t link = 0;
    for (std::size_t i = 0; i < size.servers; ++i) servers_.emplace_back(stage_, i, link++);
    for (std::size_t i = 0; i < size.matchmakers; ++i) {
        const Span every(
            static_cast<Span::rep>(1e9 * static_cast<double>(size.matchmakers) / size.allocations_per_second));
        matchmakers_.emplace_back(stage_,
                                  HonestMatchmaker::Manner{i, size.matchmakers, every, size.unread_deaths,
                                                           static_cast<std::int32_t>(size.players)},
                                  link++);
    }
    for (std::size_t i = 0; i < size.players; ++i) players_.emplace_back(stage_, i, link++);
    for (HonestServer& server : servers_) server.come(500ms);
    for (HonestMatchmaker& matchmaker : matchmakers_) matchmaker.come(1s);
    for (HonestPlayer& player : players_) player.come(1s);
    agenda_.in(sweep_every, [this] { sweep(); });
}

void Crowd::aim(const Ports& ports) {
    stage_.ports = ports;
    if (ports.servers != 0) ++stage_.life;
}

void Crowd::strand_some() {
    constexpr std::size_t one_of = 4;
    for (std::size_t i = 0; i < servers_.size(); i += one_of) {
        servers_[i].stay_away();
        if (const auto lobby = servers_[i].some_match()) matchmakers_[book_.find(*lobby)->matchmaker].cancel(*lobby);
    }
}

void Crowd::turn(Span wait) {
    const Moment began = now();
    if (turned_ && began - *turned_ > late_most) {
        weather_.begin(Trouble::cut_short, *turned_);
        weather_.end(Trouble::cut_short, began, 1s);
    }
    agenda_.turn(began);
    const Moment until = agenda_.next(began + wait);
    const Moment reads = now();
    if (turned_) judge_.did_not_read(reads - *turned_);
    links_.turn(std::max<Span>(until - reads, 0ms));
    turned_ = now();
    agenda_.turn(*turned_);
}

void Crowd::with(std::size_t link, auto&& use) {
    if (link < servers_.size()) return use(servers_[link]);
    link -= servers_.size();
    if (link < matchmakers_.size()) return use(matchmakers_[link]);
    use(players_[link - matchmakers_.size()]);
}

void Crowd::opened(std::size_t link) {
    with(link, [](auto& peer) { peer.opened(); });
}

void Crowd::frame(std::size_t link, Code code, std::span<const std::byte> payload) {
    with(link, [&](auto& peer) { peer.frame(code, payload); });
}

void Crowd::closed(std::size_t link) {
    with(link, [](auto& peer) { peer.closed(); });
}

void Crowd::sweep() {
    const Moment at = now();
    for (const HonestServer& server : servers_) server.sweep(at);
    for (const HonestPlayer& player : players_) player.sweep(at);
    std::vector<std::optional<Moment>> heard;
    for (const HonestMatchmaker& matchmaker : matchmakers_) {
        matchmaker.sweep(at);
        heard.push_back(matchmaker.heard_since());
    }
    judge_.object(book_.sweep(at, heard));
    agenda_.in(sweep_every, [this] { sweep(); });
}

bool Crowd::complete() const {
    const auto all = [](const auto& peers, auto&& is) { return std::all_of(peers.begin(), peers.end(), is); };
    return all(servers_, [](const HonestServer& each) { return each.registered(); }) &&
           all(matchmakers_, [](const HonestMatchmaker& each) { return each.registered(); }) &&
           all(players_, [](const HonestPlayer& each) { return each.logged_in(); });
}

void Crowd::rest() {
    for (HonestMatchmaker& matchmaker : matchmakers_) matchmaker.rest();
}

std::optional<std::pair<std::int32_t, Lobby>> Crowd::some_lobby() {
    const auto open = book_.open_of(stage_.random.below(matchmakers_.size()));
    std::optional<std::pair<std::int32_t, Lobby>> some;
    constexpr std::size_t tries = 20;
    for (std::size_t i = 0; i < tries && !open.empty(); ++i) {
        const std::int32_t id = open[stage_.random.below(open.size())];
        const Lobby* lobby = book_.find(id);
        if (!lobby->answer || lobby->guests.empty()) continue;
        some.emplace(id, *lobby);
        if (lobby->used.empty()) break;
    }
    return some;
}

}  // namespace muster::storm

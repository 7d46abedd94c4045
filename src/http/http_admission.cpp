#include "http/http_admission.h"

#include <algorithm>
#include <chrono>
#include <new>

namespace muster {
namespace {

// Connections over a limit that are told so; beyond these they are just closed. And those from loopback over a limit
// that may still ask how we are; beyond these the oldest makes room. Of both, at most half as many as may be served.
constexpr std::size_t turned_away_max = 32;
constexpr std::size_t probes_max = 32;
// In a flood of handshakes, how soon to look again for one that has waited too long: a look costs as much as a
// newcomer.
constexpr Duration look_again_after = std::chrono::milliseconds(100);

void count(std::atomic<std::uint64_t>& figure) {
    figure.fetch_add(1, std::memory_order_relaxed);
}

// Of those that `may_go`, the one that has waited longest for its peer.
template <class Connections, class MayGo>
std::shared_ptr<HttpConnection> longest_waiting(const Connections& connections, MayGo may_go) {
    std::shared_ptr<HttpConnection> longest;
    Duration time{0};
    for (const auto& [key, each] : connections) {
        const auto waiting = each.connection->waiting();
        if (!waiting || !may_go(each, *waiting) || (longest && waiting->time <= time)) continue;
        longest = each.connection;
        time = waiting->time;
    }
    return longest;
}

}  // namespace

bool HttpAdmission::comes_too_often(const IpAddress& from) {
    if (!quota_.comes_too_often(from, std::chrono::steady_clock::now())) return false;
    count(refused_accept_rate_);
    return true;
}

bool HttpAdmission::admit_if_room(const std::shared_ptr<HttpConnection>& connection) {
    const auto refusal = quota_.refusal(connection->peer());
    const bool is_full = refusal == HttpRefusal::per_port && shared_->tls;
    if (refusal && !(is_full && one_gives_way(connection->peer()))) return false;
    admit(connection, Kind::served);
    return true;
}

bool HttpAdmission::is_flooded() const {
    return shared_->tls && 2 * unproven_.listed() > quota_.limits().connections;
}

void HttpAdmission::admit_anyway(const std::shared_ptr<HttpConnection>& connection) {
    admit(connection, kind_for(connection->peer()));
}

void HttpAdmission::admit(const std::shared_ptr<HttpConnection>& connection, Kind as) {
    const IpAddress peer = connection->peer();
    if (as == Kind::turned_away && count_beside(as) >= beside_the_served(turned_away_max)) return;
    if (as == Kind::probes_only && count_beside(as) >= beside_the_served(probes_max)) let_go_of_oldest_probe();

    (as == Kind::served ? served_ : beside_).emplace(connection.get(), Admitted{connection, peer, as});
    if (as == Kind::served) quota_.take(peer);
    changed();
    switch (as) {
        case Kind::served:
            return connection->serve();
        case Kind::probes_only:
            return connection->serve_probe();
        case Kind::turned_away:
            return connection->turn_away();
    }
}

HttpAdmission::Kind HttpAdmission::kind_for(const IpAddress& peer) {
    auto refusal = quota_.refusal(peer);
    while (refusal && let_one_go(*refusal, peer)) refusal = quota_.refusal(peer);
    if (!refusal) return Kind::served;
    count(*refusal == HttpRefusal::per_ip ? refused_per_ip_ : refused_per_port_);
    return peer.is_loopback() ? Kind::probes_only : Kind::turned_away;
}

bool HttpAdmission::one_gives_way(const IpAddress& newcomer) {
    try {
        if (const Time now = shared_->clock->now(); unproven_.is_stale(now)) list_unproven(now);
        while (const auto named = unproven_.next_for(newcomer)) {
            const auto connection = named->lock();
            if (!connection || !connection->is_unproven()) continue;
            count(let_go_);
            connection->cut();
            unproven_.let_in(newcomer);
            return true;
        }
    } catch (const std::bad_alloc&) {
        unproven_.begin();
    }
    return false;
}

void HttpAdmission::list_unproven(Time now) {
    unproven_.begin();
    for (const auto& [key, each] : served_) {
        if (each.connection->is_unproven()) unproven_.add(each.peer, each.connection);
    }
    unproven_.end_list(now);
}

// Ends the connection that has waited longest for its peer, if any has waited long enough. In a flood of handshakes,
// those that have finished theirs stay.
bool HttpAdmission::let_one_go(HttpRefusal refusal, const IpAddress& newcomer) {
    const bool unproven_only = refusal == HttpRefusal::per_port && is_flooded();
    if (unproven_only && none_may_go_until_ && shared_->clock->now() < *none_may_go_until_) return false;
    const auto may_go = [&](const Admitted& each, const HttpConnection::Waiting& waiting) {
        if (refusal == HttpRefusal::per_ip && each.peer.network() != newcomer.network()) return false;
        if (unproven_only && !each.connection->is_unproven()) return false;
        return waiting.resting || waiting.time >= shared_->limits.patience;
    };
    if (const auto longest = longest_waiting(served_, may_go)) {
        count(let_go_);
        longest->cut();
        return true;
    }
    if (unproven_only) none_may_go_until_ = shared_->clock->now() + look_again_after;
    return false;
}

void HttpAdmission::let_go_of_oldest_probe() {
    const auto oldest = longest_waiting(
        beside_, [](const Admitted& each, const HttpConnection::Waiting&) { return each.as == Kind::probes_only; });
    if (oldest) oldest->cut();
}

std::size_t HttpAdmission::count_beside(Kind as) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(beside_, [as](const auto& entry) { return entry.second.as == as; }));
}

std::size_t HttpAdmission::beside_the_served(std::size_t most) const {
    return std::clamp<std::size_t>(quota_.limits().connections / 2, 1, most);
}

void HttpAdmission::ended(HttpConnection* connection) {
    if (const auto found = served_.find(connection); found != served_.end()) {
        quota_.give_back(found->second.peer);
        served_.erase(found);
    } else {
        beside_.erase(connection);
    }
    changed();
}

void HttpAdmission::changed() {
    count_.store(served_.size() + beside_.size(), std::memory_order_relaxed);
    shared_->under_pressure = quota_.under_pressure();
}

std::vector<std::shared_ptr<HttpConnection>> HttpAdmission::all() const {
    std::vector<std::shared_ptr<HttpConnection>> all;
    all.reserve(served_.size() + beside_.size());
    for (const Connections* some : {&served_, &beside_}) {
        for (const auto& [key, each] : *some) all.push_back(each.connection);
    }
    return all;
}

void HttpAdmission::tell(HttpFigures& figures) const {
    figures.connections = count_.load(std::memory_order_relaxed);
    figures.refused_per_ip = refused_per_ip_.load(std::memory_order_relaxed);
    figures.refused_per_port = refused_per_port_.load(std::memory_order_relaxed);
    figures.refused_accept_rate = refused_accept_rate_.load(std::memory_order_relaxed);
    figures.let_go = let_go_.load(std::memory_order_relaxed);
}

}  // namespace muster

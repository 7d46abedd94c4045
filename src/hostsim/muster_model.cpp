#include "hostsim/muster_model.h"

#include <utility>

namespace muster::hostsim {

using How = MatchOver::How;

void MusterModel::come_back(Time now) {
    up_ = true;
    for (auto& [at, server] : servers_) {
        server.online = false;
        server.kept_until = now + kept;
        server.reconcile_at.reset();
        if (server.match && !server.match->accepted) over(at, server, How::declined);
    }
}

bool MusterModel::handshake(Time now, const Endpoint& at, std::optional<LobbyId> held) {
    ModelServer& server = servers_[at];
    server.online = true;
    server.draining = false;
    server.reconcile_at.reset();
    const bool known = held && server.match && server.match->lobby == *held;
    if (server.match && !known) server.reconcile_at = now + reconcile_after;
    return held && !known;
}

void MusterModel::link_lost(Time now, const std::string& host) {
    for (auto& [at, server] : servers_) {
        if (at.host != host || !server.online) continue;
        server.online = false;
        server.kept_until = now + kept;
        if (server.match && !server.match->accepted) over(at, server, How::declined);
    }
}

void MusterModel::tell(const Endpoint& at, LobbyId lobby, TellMatch::What what) {
    const auto found = servers_.find(at);
    if (found == servers_.end() || !found->second.match || found->second.match->lobby != lobby) return;
    switch (what) {
        case TellMatch::What::accept:
        case TellMatch::What::ready:
        case TellMatch::What::started:
            found->second.match->accepted = true;
            return;
        case TellMatch::What::decline:
            return over(at, found->second, How::declined);
        case TellMatch::What::ended:
            return over(at, found->second, How::ended);
    }
}

void MusterModel::leave(const Endpoint& at, bool crashed) {
    const auto found = servers_.find(at);
    if (found == servers_.end()) return;
    over(at, found->second, crashed ? How::crashed : How::lost);
    servers_.erase(found);
}

void MusterModel::set_draining(const Endpoint& at, bool draining) {
    const auto found = servers_.find(at);
    if (found != servers_.end()) found->second.draining = draining;
}

std::optional<LobbyId> MusterModel::offer(Time now, const Endpoint& at) {
    const auto found = servers_.find(at);
    if (!up_ || found == servers_.end()) return std::nullopt;
    ModelServer& server = found->second;
    if (!server.online || server.draining || server.match) return std::nullopt;
    server.match = ModelMatch{LobbyId(++last_lobby_), false, now + offer_time};
    return server.match->lobby;
}

std::optional<LobbyId> MusterModel::abort(const Endpoint& at) {
    const auto found = servers_.find(at);
    if (!up_ || found == servers_.end() || !found->second.match) return std::nullopt;
    const LobbyId lobby = found->second.match->lobby;
    over(at, found->second, How::by_operator);
    return lobby;
}

void MusterModel::tick(Time now) {
    if (!up_) return;
    for (auto each = servers_.begin(); each != servers_.end();) {
        ModelServer& server = each->second;
        if (server.match && !server.match->accepted && server.match->offer_until <= now)
            over(each->first, server, How::declined);
        if (server.reconcile_at && *server.reconcile_at <= now) {
            over(each->first, server, How::lost);
            server.reconcile_at.reset();
        }
        const bool gone = !server.online && server.kept_until <= now;
        if (gone) over(each->first, server, How::lost);
        each = gone ? servers_.erase(each) : std::next(each);
    }
}

std::vector<MatchOver> MusterModel::take_over_matches() {
    return std::exchange(over_, {});
}

void MusterModel::over(const Endpoint& at, ModelServer& server, MatchOver::How how) {
    if (!server.match) return;
    over_.push_back({at, server.match->lobby, how, server.match->accepted});
    server.match.reset();
    server.reconcile_at.reset();  // it is about matches of an earlier registration
}

}  // namespace muster::hostsim

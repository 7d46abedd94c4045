#include "sim/drop_judge.h"

#include <cstdint>
#include <limits>
#include <variant>

#include <fmt/format.h>

#include "store/latest_state.h"

namespace muster::sim {
namespace {

using namespace std::chrono_literals;

// Told for so long, on a link that still stands: heard.
constexpr Duration heard_after = 1min;
constexpr LobbyId least_lobby{std::numeric_limits<std::int32_t>::min()};

}  // namespace

// A server that acknowledges or speaks of a match has it, whatever it was told before.
void DropJudge::holds(LinkNumber link, LobbyId lobby) {
    if (const KnownServer* server = registry_.speaker(link)) dropped_.erase({server->id, lobby});
}

void DropJudge::holds_no_more(LinkNumber link, LobbyId lobby) {
    const KnownServer* server = registry_.speaker(link);
    if (server) may_hold_.erase(held(*server, lobby));
}

// A match that was ready or started stands after a restart when its server reports as many as it is known to hold
// . Which ones it counts, nobody can know.
void DropJudge::heard(const Scene&, LinkNumber link, const ServerHeartbeat& beat) {
    const KnownServer* server = registry_.speaker(link);
    if (!server || server->id != beat.server) return;
    const bool makes_sense = server->report == registry_.reports();  // the registry has heard it already
    if (!makes_sense || beat.match_count < slots_.held(server->id)) return;
    auto one = doubted_.lower_bound({server->id, least_lobby});
    while (one != doubted_.end() && one->first == server->id) {
        dropped_.erase(*one);
        one = doubted_.erase(one);
    }
}

DropJudge::Held DropJudge::held(const KnownServer& server, LobbyId lobby) {
    return {{server.endpoint.ip.string(), server.endpoint.port}, lobby};
}

void DropJudge::heard(const Scene&, LinkNumber link, const AllocateMatchAck& ack) {
    if (ack.accepted) return holds(link, ack.lobby);
    holds_no_more(link, ack.lobby);
}

void DropJudge::heard(const Scene&, LinkNumber link, const MatchEndedReport& report) {
    holds_no_more(link, report.lobby);
}

// By its count (F-7), or by its word.
void DropJudge::happened(const Scene&, const event::MatchEnded& event) {
    if (const KnownServer* server = registry_.server(event.server)) may_hold_.erase(held(*server, event.lobby));
}

void DropJudge::happened(const Scene&, const event::MatchAborted& event) {
    doubted_.erase({event.server, event.lobby});
}

void DropJudge::said(const Scene&, LinkNumber link, const AllocateMatch& offer) {
    if (const KnownServer* server = registry_.speaker(link)) may_hold_[held(*server, offer.lobby)] = {};
}

// Whether what was told on it was heard, nobody knows.
void DropJudge::closed(const Scene&, LinkNumber link) {
    const auto told = told_on_.extract(link);
    if (!told) return;
    for (const Held& what : *told) {
        const auto may_hold = may_hold_.find(what);
        if (may_hold != may_hold_.end() && may_hold->second.told_on == link) may_hold->second = {};
    }
}

void DropJudge::heard(const Scene&, LinkNumber link, const ReadyForMatch& report) {
    holds(link, report.lobby);
}

void DropJudge::heard(const Scene&, LinkNumber link, const MatchStartedReport& report) {
    holds(link, report.lobby);
}

void DropJudge::heard(const Scene&, LinkNumber link, const ValidateToken& request) {
    holds(link, request.lobby);
}

void DropJudge::said(const Scene& scene, LinkNumber link, const AbortMatch& abort) {
    if (const KnownServer* server = registry_.speaker(link)) {
        dropped_.insert({server->id, abort.lobby});
        doubted_.erase({server->id, abort.lobby});
        const auto may_hold = may_hold_.find(held(*server, abort.lobby));
        // On a newer link the minute begins anew: the one before may be gone, and nobody knows it yet.
        if (may_hold != may_hold_.end() && may_hold->second.told_on != link) {
            may_hold->second = {link, scene.running};
            told_on_[link].push_back(may_hold->first);
            heard_in_turn_.emplace_back(scene.running, may_hold->first);
        }
    }
    if (const auto hears = to_hear_.find(link); hears != to_hear_.end()) hears->second.erase(abort.lobby);
}

void DropJudge::said(const Scene& scene, LinkNumber, const AllocationResponse& answer) {
    const auto* accepted = std::get_if<AllocationResponse::Accepted>(&answer.answer);
    if (!accepted || !dropped_.contains({accepted->server, accepted->lobby})) return;
    objections_.add({"fault 72", "a match is promised on a server that was told to drop it, and did not agree again",
                     accepted->lobby, accepted->server, scene.now});
}

// Whoever registers at an endpoint hears at once what it is owed (F-6).
void DropJudge::said(const Scene&, LinkNumber link, const ServerHandshakeResponse& response) {
    if (!std::holds_alternative<ServerHandshakeResponse::Accepted>(response.answer)) return;
    const KnownLink* known = registry_.link(link);
    if (!known) return;
    const GameEndpoint& endpoint = known->server_hello.endpoint;
    const auto owed = owed_.find({endpoint.ip.string(), endpoint.port});
    if (owed == owed_.end()) return;
    to_hear_[link] = owed->second;
    owed_.erase(owed);
}

void DropJudge::durable(Time, const RecordBatch& batch) {
    for (const Record& record : batch.records) {
        if (const auto* owed = std::get_if<AbortOwed>(&record))
            on_disk_[{owed->ip.to_string(), owed->port}].insert(owed->lobby);
        if (const auto* settled = std::get_if<AbortSettled>(&record))
            on_disk_[{settled->ip.to_string(), settled->port}].erase(settled->lobby);
        if (const auto* told = std::get_if<AbortsTold>(&record)) on_disk_.erase({told->ip.to_string(), told->port});
        if (const auto* forgotten = std::get_if<MatchForgotten>(&record)) matches_.erase(forgotten->lobby);
        const auto* match = std::get_if<MatchRecord>(&record);
        if (!match) continue;
        if (is_over(match->state)) {
            matches_.erase(match->lobby);
        } else {
            matches_[match->lobby] = *match;
        }
    }
}

// The endpoint's server is asked about the match after a restart.
bool DropJudge::is_known(const Endpoint& endpoint, LobbyId lobby) const {
    const auto match = matches_.find(lobby);
    return match != matches_.end() && match->second.server_ip == endpoint.first &&
           match->second.server_port == endpoint.second;
}

void DropJudge::run_began(const Scene& scene, const Core&) {
    to_hear_.clear();
    told_on_.clear();
    heard_in_turn_.clear();
    doubted_.clear();
    for (const auto& [lobby, match] : matches_) {
        if (match.state >= MatchState::ready) doubted_.insert({match.server, lobby});
    }
    owed_ = on_disk_;
    for (auto& [endpoint, lobbies] : owed_)
        std::erase_if(lobbies, [&, &at = endpoint](LobbyId lobby) { return is_known(at, lobby); });
    for (auto& [what, may_hold] : may_hold_) {
        const auto& [endpoint, lobby] = what;
        const auto owed = owed_.find(endpoint);
        if (is_known(endpoint, lobby) || (owed != owed_.end() && owed->second.contains(lobby))) {
            may_hold = {};
            continue;
        }
        objections_.add({"fault 65",
                         fmt::format("{}:{} may hold a match that Muster neither knows nor will tell it to drop",
                                     endpoint.first, endpoint.second),
                         lobby,
                         {},
                         scene.now});
    }
}

void DropJudge::pass_ended(const Scene& scene, const Core&) {
    while (!heard_in_turn_.empty() && scene.running - heard_in_turn_.front().first >= heard_after) {
        const auto& [told, what] = heard_in_turn_.front();
        const auto may_hold = may_hold_.find(what);
        if (may_hold != may_hold_.end() && may_hold->second.told_on != 0 && may_hold->second.told == told)
            may_hold_.erase(may_hold);
        heard_in_turn_.pop_front();
    }
    for (const auto& [link, lobbies] : to_hear_) {
        const KnownServer* server = registry_.speaker(link);
        if (lobbies.empty() || !server) continue;
        objections_.add(
            {"F-6", "a server comes back and is not told what to drop", *lobbies.begin(), server->id, scene.now});
    }
    to_hear_.clear();
}

}  // namespace muster::sim

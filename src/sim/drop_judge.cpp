#include "sim/drop_judge.h"

#include <variant>

#include <fmt/format.h>

namespace muster::sim {

// A server that acknowledges or speaks of a match has it, whatever it was told before.
void DropJudge::holds(LinkNumber link, LobbyId lobby) {
    if (const KnownServer* server = registry_.speaker(link)) dropped_.erase({server->id, lobby});
}

void DropJudge::heard(const Scene&, LinkNumber link, const AllocateMatchAck& ack) {
    if (ack.accepted) holds(link, ack.lobby);
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

void DropJudge::said(const Scene&, LinkNumber link, const AbortMatch& abort) {
    if (const KnownServer* server = registry_.speaker(link)) dropped_.insert({server->id, abort.lobby});
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
        if (const auto* told = std::get_if<AbortsTold>(&record)) on_disk_.erase({told->ip.to_string(), told->port});
    }
}

void DropJudge::run_began(const Scene&, const Core&) {
    to_hear_.clear();
    owed_ = on_disk_;
}

void DropJudge::pass_ended(const Scene& scene, const Core&) {
    for (const auto& [link, lobbies] : to_hear_) {
        const KnownServer* server = registry_.speaker(link);
        if (lobbies.empty() || !server) continue;
        objections_.add(
            {"F-6", "a server comes back and is not told what to drop", *lobbies.begin(), server->id, scene.now});
    }
    to_hear_.clear();
}

}  // namespace muster::sim

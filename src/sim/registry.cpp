#include "sim/registry.h"

#include <algorithm>
#include <variant>

#include <fmt/format.h>

namespace muster::sim {
namespace {

using namespace std::chrono_literals;

constexpr Duration overdue_after = 15s;

bool makes_sense(const ServerHeartbeat& beat) {
    const auto percentage = [](float value) { return value >= 0 && value <= 100; };
    return percentage(beat.cpu_percent) && percentage(beat.memory_percent) && beat.match_count >= 0;
}

}  // namespace

void Registry::opened(const Scene&, LinkNumber link, Port port) {
    links_[link].port = port;
}

void Registry::closed(const Scene& scene, LinkNumber number) {
    const auto found = links_.find(number);
    if (found == links_.end()) return;
    detach(scene, number, found->second);
    links_.erase(found);
}

// Muster's last word on a link: whoever it was is gone with it (W-6).
void Registry::close_asked(const Scene& scene, LinkNumber number) {
    const auto found = links_.find(number);
    if (found == links_.end()) return;
    found->second.closing = true;
    detach(scene, number, found->second);
}

void Registry::detach(const Scene& scene, LinkNumber number, const KnownLink& link) {
    if (KnownServer* known = server(link.server); known && known->link == number) {
        known->link = 0;
        known->silent_since = std::min(known->silent_since, scene.running);
        touch(known->id);
    }
    const auto matchmaker = matchmaker_links_.find(link.matchmaker);
    if (matchmaker != matchmaker_links_.end() && matchmaker->second == number) matchmaker_links_.erase(matchmaker);
}

void Registry::heard(const Scene&, LinkNumber link, const ServerHandshake& hello) {
    if (!links_[link].greeted) links_[link].server_hello = hello;
}

void Registry::heard(const Scene&, LinkNumber link, const MatchmakerHandshake& hello) {
    if (!links_[link].greeted) links_[link].matchmaker_hello = hello;
}

void Registry::heard(const Scene& scene, LinkNumber link, const ServerHeartbeat& beat) {
    const KnownServer* speaking = speaker(link);
    if (!speaking || speaking->id != beat.server) return;
    KnownServer& known = *server(beat.server);
    known.last_beat = scene.running;
    known.silent_since = scene.running + overdue_after;
    touch(known.id);
    if (!makes_sense(beat)) return;
    known.reported = beat.match_count;
    known.report = ++reports_;
    known.ended_since = 0;
    known.cpu = beat.cpu_percent;
    known.memory = beat.memory_percent;
}

void Registry::heard(const Scene&, LinkNumber link, const SetDraining& wish) {
    const KnownServer* speaking = speaker(link);
    if (!speaking || speaking->id != wish.server) return;
    server(wish.server)->drained_by_server = wish.draining;
    touch(wish.server);
}

void Registry::heard(const Scene&, LinkNumber link, const MatchStartedReport& report) {
    const KnownServer* speaking = speaker(link);
    if (speaking && speaking->id == report.server) server(report.server)->speaks_of_matches = true;
}

void Registry::heard(const Scene&, LinkNumber link, const MatchEndedReport& report) {
    const KnownServer* speaking = speaker(link);
    if (speaking && speaking->id == report.server) server(report.server)->speaks_of_matches = true;
}

void Registry::said(const Scene& scene, LinkNumber number, const ServerHandshakeResponse& response) {
    const auto* accepted = std::get_if<ServerHandshakeResponse::Accepted>(&response.answer);
    if (!accepted) return;
    KnownLink& link = links_[number];
    KnownServer* known = server(accepted->server);
    if (!known) {
        return objections_.add(
            {"F-1", "a server is told an id that no event registered", {}, accepted->server, scene.now});
    }
    if (known->region != link.server_hello.region) {
        return objections_.add({"F-6", "another region is a new registration", {}, known->id, scene.now});
    }
    link.greeted = true;
    link.server = known->id;
    known->endpoint = link.server_hello.endpoint;
    known->max_matches = link.server_hello.max_matches;
    known->link = number;
    known->last_beat = scene.running;
    known->silent_since = scene.running + overdue_after;
    known->low_reports = 0;
    ++registrations_;
    touch(known->id);
}

void Registry::said(const Scene&, LinkNumber number, const MatchmakerHandshakeResponse& response) {
    if (!std::holds_alternative<MatchmakerHandshakeResponse::Accepted>(response.answer)) return;
    KnownLink& link = links_[number];
    link.greeted = true;
    link.matchmaker = link.matchmaker_hello.matchmaker.string();
    matchmaker_links_[link.matchmaker] = number;
}

void Registry::happened(const Scene& scene, const event::ServerRegistered& event) {
    const auto [endpoint, fresh] = endpoints_.try_emplace(event.server, event.endpoint);
    if (!fresh) {
        objections_.add({"fault 46",
                         fmt::format("id {} was given before, to {}", event.server.value, endpoint->second),
                         {},
                         event.server,
                         scene.now});
    }
    KnownServer& known = servers_[event.server];
    known = KnownServer{};
    known.id = event.server;
    known.region = event.region;
    known.max_matches = event.max_matches;
    known.epoch = event.epoch;
    epochs_[event.server] = event.epoch;
    touch(event.server);
}

void Registry::happened(const Scene& scene, const event::ServerResumed& event) {
    std::int64_t& highest = epochs_[event.server];
    if (event.epoch <= highest) {
        objections_.add({"invariant 13",
                         fmt::format("epoch {} follows epoch {}", event.epoch, highest),
                         {},
                         event.server,
                         scene.now});
    }
    highest = std::max(highest, event.epoch);
    if (KnownServer* known = server(event.server)) known->epoch = event.epoch;
    touch(event.server);
}

void Registry::happened(const Scene&, const event::ServerRemoved& event) {
    if (const KnownServer* known = server(event.server)) last_removed_ = *known;
    servers_.erase(event.server);
    touch(event.server);
}

void Registry::drained(const Scene&, const OperatorDrain& wish) {
    KnownServer* known = server(wish.server);
    if (!known) return;
    known->drained_by_operator = wish.draining;
    if (!wish.draining) known->drained_by_server = false;
    touch(wish.server);
}

void Registry::durable(Time, const RecordBatch& batch) {
    for (const Record& record : batch.records) {
        if (const auto* server = std::get_if<ServerRecord>(&record)) durable_[server->id] = *server;
        if (const auto* removed = std::get_if<ServerRemoved>(&record)) durable_.erase(removed->id);
    }
}

// What was durable is there again, and nothing else.
void Registry::run_began(const Scene& scene, const Core&) {
    links_.clear();
    links_[api_link].port = Port::matchmakers;
    links_[api_link].greeted = true;
    links_[api_link].matchmaker = http_matchmaker_id("");  // it is told nothing: it asks
    matchmaker_links_.clear();
    servers_.clear();
    for (const auto& [id, record] : durable_) {
        KnownServer& known = servers_[id];
        known.id = id;
        known.endpoint = {IpText(record.ip.to_string()), record.port};
        known.region = record.region;
        known.max_matches = record.max_matches;
        known.last_beat = scene.running;
        known.silent_since = Time::max();
        known.drained_by_server = record.drained_by_server;
        known.drained_by_operator = record.drained_by_operator;
        known.epoch = record.epoch;
        touch(id);
    }
}

const KnownLink* Registry::link(LinkNumber number) const {
    const auto found = links_.find(number);
    return found == links_.end() ? nullptr : &found->second;
}

const KnownServer* Registry::server(ServerId id) const {
    const auto found = servers_.find(id);
    return found == servers_.end() ? nullptr : &found->second;
}

KnownServer* Registry::server(ServerId id) {
    const auto found = servers_.find(id);
    return found == servers_.end() ? nullptr : &found->second;
}

const KnownServer* Registry::speaker(LinkNumber number) const {
    const KnownLink* known = link(number);
    if (!known || !known->greeted || known->closing) return nullptr;
    const KnownServer* speaking = server(known->server);
    return speaking && speaking->link == number ? speaking : nullptr;
}

LinkNumber Registry::matchmaker_link(const std::string& matchmaker) const {
    const auto found = matchmaker_links_.find(matchmaker);
    if (found == matchmaker_links_.end()) return 0;
    const KnownLink* known = link(found->second);
    return known && !known->closing ? found->second : 0;
}

}  // namespace muster::sim

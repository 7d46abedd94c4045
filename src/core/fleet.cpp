#include "core/fleet.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/planted.h"
#include "core/events.h"

namespace muster {
namespace {

bool is_percentage(float value) {
    return value >= 0.0F && value <= 100.0F;
}  // false for NaN

}  // namespace

Fleet::Fleet(FleetConfig config, const Parts& parts)
    : config_(std::move(config)),
      timers_(parts.timers),
      events_(parts.events),
      log_(parts.log),
      ledger_(parts.ledger),
      ids_(parts.ids),
      owed_aborts_(parts.ledger) {
    for (const Region& region : config_.regions) {
        indexes_.add(region.id);
        brakes_.try_emplace(region.id, config_.brake);
    }
}

void Fleet::configure(FleetConfig config) {
    config.regions = std::move(config_.regions);
    config_ = std::move(config);
    for (auto& [region, brake] : brakes_) brake.configure(config_.brake);
    // Timers stand where the old limits ended.
    for (auto& [id, server] : servers_) timers_.restart(server.silence, Timers::delay_least);
}

void Fleet::recover(const Pass& pass, std::span<const ServerRecord> servers, std::span<const AbortOwed> owed_aborts) {
    if (!planted(Bug::owed_aborts_forgotten)) owed_aborts_.recover(owed_aborts);
    for (const ServerRecord& record : servers) {
        if (!region_known(record.region)) {
            ledger_.write(ServerRemoved{record.id});  // its region was taken out of the config
            continue;
        }
        Server& server = servers_.try_emplace(servers_.end(), record.id)->second;
        server.id = record.id;
        server.endpoint = {record.ip, record.port};
        server.region = record.region;
        server.max_matches = record.max_matches;
        server.epoch = record.epoch;
        server.registered = pass.running;
        server.last_heartbeat = pass.running;
        server.registered_at = record.registered_at;
        server.drained_by_server = record.drained_by_server;
        server.drained_by_operator = record.drained_by_operator;
        server.set_drain(record.drain);
        server.set_name(record.name);
        by_id_.insert(server);
        by_endpoint_.insert(server);
        server.place = indexes_.at(server.region).enter(server.id);
        start_silence_timer(server, config_.heartbeat_timeout);
    }
}

Result<Fleet::Registration, Refusal> Fleet::handshake(const Pass& pass, ConnectionId from, const ServerHandshake& hello,
                                                      UnixMs wall, std::string_view name) {
    const auto endpoint = judged(hello);
    if (!endpoint) return Failure(endpoint.error());
    Server* known = by_endpoint_.find(*endpoint);
    if (!known) return enroll(pass, from, *endpoint, hello, wall, name);

    Server& server = *known;
    if (!server.name().empty() && server.name() != name) return Failure(Refusal::endpoint_of_other_name);
    if (server.connected() && link_is_live(server, pass)) return Failure(Refusal::server_already_registered);
    const ConnectionId replaced = server.link;

    if (server.region != hello.region) {
        // The same machine under another region is another server: the old one is gone with its matches.
        remove(pass, server.id, Reason::server_lost);
        auto registration = enroll(pass, from, *endpoint, hello, wall, name);
        if (registration) registration->replaced = replaced;
        return registration;
    }
    const auto epoch = ids_.epoch();
    if (!epoch) return Failure(Refusal::store_unavailable);
    if (server.connected()) {
        server.link = {};
        server.unread_since = Time::max();
        went_offline(server, "replaced by a new connection");
    }
    server.set_name(name);
    resume(pass, from, server, hello.max_matches, *epoch);
    return Registration{.server = server.id, .resumed = true, .replaced = replaced};
}

Result<Endpoint, Refusal> Fleet::judged(const ServerHandshake& hello) const {
    const auto ip = IpAddress::parse(hello.endpoint.ip.view());
    if (!ip || ip->is_unspecified() || ip->is_multicast()) return Failure(Refusal::invalid_ip_address);
    if (hello.endpoint.port < 1024 || hello.endpoint.port > 65535) return Failure(Refusal::invalid_port);
    if (!region_known(hello.region)) return Failure(Refusal::invalid_region);
    if (hello.max_matches < 1 || hello.max_matches > 10'000) return Failure(Refusal::invalid_capacity);
    const auto has_it = [&ip](const IpRange& range) { return range.contains(*ip); };
    if (!config_.addresses.empty() && std::ranges::none_of(config_.addresses, has_it))
        return Failure(Refusal::address_not_allowed);
    return Endpoint{*ip, static_cast<std::uint16_t>(hello.endpoint.port)};
}

bool Fleet::link_is_live(const Server& server, const Pass& pass) const {
    return server.heard_until(pass.running) - server.last_heartbeat < silence_after();
}

Result<Fleet::Registration, Refusal> Fleet::enroll(const Pass& pass, ConnectionId from, const Endpoint& endpoint,
                                                   const ServerHandshake& hello, UnixMs wall, std::string_view name) {
    const auto id = ids_.server_id();
    const auto epoch = ids_.epoch();
    if (!id || !epoch) return Failure(Refusal::store_unavailable);

    Server& server = servers_.try_emplace(servers_.end(), *id)->second;
    server.id = *id;
    server.endpoint = endpoint;
    server.region = hello.region;
    server.max_matches = hello.max_matches;
    server.epoch = *epoch;
    server.link = from;
    server.registered = pass.running;
    server.last_heartbeat = pass.running;
    server.registered_at = wall;
    server.set_name(name);
    by_id_.insert(server);
    by_endpoint_.insert(server);
    server.place = indexes_.at(server.region).enter(server.id);
    start_silence_timer(server, silence_after());
    refresh(server);
    save(server);
    events_.publish(
        event::ServerRegistered{server.id, server.region, endpoint.to_string(), server.max_matches, server.epoch});
    note(FleetFact::Kind::registered, server);
    return Registration{.server = server.id, .resumed = false, .replaced = {}};
}

void Fleet::resume(const Pass& pass, ConnectionId from, Server& server, std::int32_t max_matches, std::int64_t epoch) {
    MUSTER_CHECK(epoch > server.epoch, "epochs grow");
    server.link = from;
    if (!planted(Bug::no_epoch)) server.epoch = epoch;
    server.max_matches = max_matches;
    server.low_reports = 0;
    server.last_arrival = Time{};
    sign_of_life(pass, server);
    look_for_silence_again(server);
    save(server);
    events_.publish(event::ServerResumed{server.id, server.region, server.epoch});
    note(FleetFact::Kind::registered, server);
}

Result<void, Refusal> Fleet::heartbeat(const Pass& pass, ConnectionId from, const ServerHeartbeat& beat, Time arrived,
                                       std::uint32_t rtt_us) {
    Server* server = mutable_find(beat.server);
    if (!server || server->link != from) {
        ++figures_.identity_mismatches;
        return Failure(Refusal::server_not_registered);
    }
    if (server->last_arrival != Time{}) {
        const double off = std::abs(to_milliseconds((arrived - server->last_arrival) - config_.heartbeat_interval));
        const double before = server->jitter_ms;
        server->jitter_ms = static_cast<float>(before + (off - before) / 16);
        figures_.jitter_seconds.observe(static_cast<double>(server->jitter_ms) / 1000);
    }
    server->last_arrival = arrived;
    if (rtt_us != 0) {
        server->rtt_us = rtt_us;
        figures_.rtt_seconds.observe(static_cast<double>(rtt_us) / 1e6);
    }
    if ((!is_percentage(beat.cpu_percent) && !planted(Bug::not_a_number_taken)) ||
        !is_percentage(beat.memory_percent) || beat.match_count < 0) {
        ++figures_.bad_load_reports;
        if (!planted(Bug::bad_report_is_silence)) sign_of_life(pass, *server);
        return Failure(Refusal::invalid_load_report);
    }
    if (planted(Bug::draining_lost_on_heartbeat)) server->drained_by_server = server->drained_by_operator = false;
    server->reported_matches = beat.match_count;
    ++server->reports;
    server->ended_since_report = 0;
    server->cpu_percent = beat.cpu_percent;
    server->memory_percent = beat.memory_percent;
    sign_of_life(pass, *server);
    reconcile(*server);
    return {};
}

void Fleet::sign_of_life(const Pass& pass, Server& server) {
    server.last_heartbeat = pass.running;
    if (server.silent) {
        server.silent = false;
        brakes_.at(server.region).heard(server.id);
        let_go(server);
        look_for_silence_again(server);
    }
    refresh(server);
}

void Fleet::reconcile(Server& server) {
    if (server.reported_matches >= server.held) {
        server.low_reports = 0;
        if (server.to_be_counted) note(FleetFact::Kind::load_covered, server);
        server.to_be_counted = false;
        return;
    }
    ++figures_.load_mismatches;
    if (++server.low_reports < config_.reconcile_heartbeats) return;
    server.low_reports = 0;
    note(FleetFact::Kind::load_mismatch, server);
}

void Fleet::link_lost(const Pass& pass, ServerId id, ConnectionId link) {
    Server* server = mutable_find(id);
    if (!server || server->link != link) return;
    server->link = {};
    server->unread_since = Time::max();
    went_offline(*server, "connection lost");
    became_silent(pass, *server);
}

void Fleet::paused(const Pass& pass, ServerId id, ConnectionId link) {
    Server* server = mutable_find(id);
    if (server && server->link == link && server->is_read()) server->unread_since = pass.running;
}

void Fleet::resumed(const Pass& pass, ServerId id, ConnectionId link) {
    Server* server = mutable_find(id);
    if (!server || server->link != link || server->is_read()) return;
    const Duration unread = pass.running - server->unread_since;
    server->unread_since = Time::max();
    // What was read last may have been a heartbeat.
    server->last_heartbeat = std::min(server->last_heartbeat + unread, pass.running);
}

void Fleet::remove(const Pass& pass, ServerId id, Reason reason) {
    Server* server = mutable_find(id);
    if (!server) return;
    const bool was_online = server->status() != ServerStatus::offline;
    const ConnectionId link = std::exchange(server->link, {});
    timers_.cancel(server->silence);
    refresh(*server);
    if (was_online) note(FleetFact::Kind::offline, *server);
    facts_.push_back({FleetFact::Kind::removed, id, server->endpoint, link, reason});

    const RegionId region = server->region;
    indexes_.at(region).leave(server->place);
    brakes_.at(region).heard(id);
    let_go(*server);
    by_endpoint_.erase(*server);
    by_id_.erase(*server);
    last_found_ = nullptr;
    const Duration silence = pass.running - server->last_heartbeat;
    const Duration uptime = pass.running - server->registered;
    std::string endpoint = server->endpoint.to_string();
    servers_.erase(id);
    ledger_.write(ServerRemoved{id});
    events_.publish(event::ServerRemoved{id, region, text(reason), reason == Reason::server_lost, silence, uptime,
                                         std::move(endpoint)});
}

ServerStatus Fleet::drain_by_server(ServerId id, bool draining, UnixMs at) {
    Server& server = *mutable_find(id);
    if (server.drained_by_server != draining) {
        server.drained_by_server = draining;
        // The word of an operator who drained it stays.
        if (!server.drained_by_operator) server.set_drain(draining ? DrainNote{{}, {}, at} : DrainNote{});
        refresh(server);
        save(server);
        events_.publish(event::ServerDraining{id, server.draining(), false, {}, {}});
    }
    return server.status();
}

ServerStatus Fleet::drain_by_operator(ServerId id, bool draining, const DrainNote& note) {
    Server& server = *mutable_find(id);
    // An operator lifts any drain; a server only its own (F-5).
    const bool own = draining && server.drained_by_server;
    if (server.drained_by_operator != draining || server.drained_by_server != own) {
        server.drained_by_operator = draining;
        if (!draining) server.drained_by_server = false;
        server.set_drain(draining ? note : DrainNote{});
        refresh(server);
        save(server);
        events_.publish(event::ServerDraining{id, server.draining(), true, note.who, note.reason});
    }
    return server.status();
}

std::optional<Fleet::Reservation> Fleet::reserve(RegionId region, std::span<const ServerId> tried) {
    CandidateIndex* index = indexes_.find(region);
    if (!index) return std::nullopt;
    const auto best = index->best_except(tried);
    if (!best) return std::nullopt;
    Choice choice = index->choice(tried);
    // The slot is taken before the offer is sent, so that offers in flight can never overfill a server.
    Server& server = *mutable_find(*best);
    ++server.offered;
    ++server.choices;
    index->choose(server.place);
    refresh(server);
    return Reservation{server.id, server.epoch, std::move(choice)};
}

void Fleet::offer_over(ServerId id) {
    Server* server = mutable_find(id);
    if (!server) return;
    MUSTER_CHECK(server->offered > 0, "an offer is over once");
    --server->offered;
    refresh(*server);
}

void Fleet::acknowledged(ServerId id) {
    Server* server = mutable_find(id);
    if (!server) return;
    MUSTER_CHECK(server->offered > 0, "what is acknowledged was offered");
    --server->offered;
    ++server->held;
    server->low_reports = 0;  // earlier reports could not know of it
    refresh(*server);
}

void Fleet::confirmed(ServerId id) {
    if (Server* server = mutable_find(id)) server->low_reports = 0;  // its word is newer than earlier reports
}

void Fleet::end_reported(ServerId id, std::uint32_t reports_before) {
    Server* server = mutable_find(id);
    // Counted, not timed: one pass may take an acknowledgement and the report after it.
    if (!server || reports_before == server->reports) return;
    if (server->ended_since_report < server->reported_matches) ++server->ended_since_report;
    refresh(*server);
}

void Fleet::match_over(ServerId id) {
    Server* server = mutable_find(id);
    if (!server) return;
    MUSTER_CHECK(server->held > 0, "a match is over once");
    --server->held;
    refresh(*server);
}

const Server* Fleet::restore_held(ServerId id) {
    Server* server = mutable_find(id);
    if (!server) return nullptr;
    ++server->held;
    server->to_be_counted = true;
    return server;
}

void Fleet::speaks_of_matches(ServerId id) {
    if (Server* server = mutable_find(id)) server->speaks_of_matches = true;
}

void Fleet::validates_tokens(ServerId id) {
    if (Server* server = mutable_find(id)) server->validates_tokens = true;
}

void Fleet::settle_heard_aborts() {
    for (const Endpoint& endpoint : owed_aborts_.endpoints()) {
        const Server* server = find(endpoint);
        const bool there = server && server->status() != ServerStatus::offline;
        owed_aborts_.settle_heard(endpoint, there ? server->epoch : 0);
    }
}

void Fleet::note(FleetFact::Kind kind, const Server& server) {
    facts_.push_back({kind, server.id, server.endpoint});
}

const Server* Fleet::find(const Endpoint& endpoint) const {
    return by_endpoint_.find(endpoint);
}

// What a server says is looked up several times on its way: the first of them is 40 instructions, the others 5.
Server* Fleet::mutable_find(ServerId id) const {
    if (!last_found_ || last_found_->id != id) last_found_ = by_id_.find(id);
    return last_found_;
}

// Puts the server where its figures say it belongs: among the candidates or not.
void Fleet::refresh(Server& server) {
    CandidateIndex& index = indexes_.at(server.region);
    if (server.status() != ServerStatus::available) return index.withdraw(server.place);
    const std::int32_t load = server.load();
    index.offer(server.place, candidate_score(load, server.max_matches, server.cpu_percent, server.memory_percent),
                load);
}

void Fleet::save(const Server& server) {
    ledger_.write(ServerRecord{.id = server.id,
                               .ip = server.endpoint.ip,
                               .port = server.endpoint.port,
                               .region = server.region,
                               .epoch = server.epoch,
                               .max_matches = server.max_matches,
                               .drained_by_server = server.drained_by_server,
                               .drained_by_operator = server.drained_by_operator,
                               .registered_at = server.registered_at,
                               .drain = server.drain(),
                               .name = server.name()});
}

}  // namespace muster

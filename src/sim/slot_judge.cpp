#include "sim/slot_judge.h"

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "store/latest_state.h"

namespace muster::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t offers_most = 4;  // three retries
constexpr Duration answer_time = 5s;
constexpr Duration request_time = 25s;
constexpr Duration timer_slack = 2ms;  // deadlines are rounded up to whole milliseconds

}  // namespace

const SeenOffer* SeenLobby::held() const {
    for (const SeenOffer& offer : offers) {
        if (offer.state == SeenOffer::State::held) return &offer;
    }
    return nullptr;
}

void SlotJudge::heard(const Scene& scene, LinkNumber link, const AllocationRequest& request) {
    const KnownLink* known = registry_.link(link);
    if (!known || !known->greeted || known->closing) return;
    SeenLobby& lobby = lobbies_[request.lobby];
    if (lobby.live()) {
        if (lobby.matchmaker != known->matchmaker) ++requests_;  // to be refused
        return;
    }
    ++requests_;
    lobby = SeenLobby{};
    lobby.matchmaker = known->matchmaker;
    lobby.region = request.region;
    lobby.player_count = request.player_count;
    lobby.asked = scene.now;
    lobby.seeking = true;
    seeking_.insert(request.lobby);
}

void SlotJudge::said(const Scene& scene, LinkNumber link, const AllocateMatch& message) {
    const KnownServer* server = registry_.speaker(link);
    if (!server)
        return object(scene, "invariant 5", "an offer goes to a link that is no registered server", message.lobby);
    SeenLobby& lobby = lobbies_[message.lobby];
    // After a restart its server is asked whether it still holds the match. Nothing is taken by that.
    SeenOffer* known = lobby.recovered ? on_server(lobby, server->id) : nullptr;
    if (known && known->state == SeenOffer::State::held && known->token == message.token.view()) {
        known->asked_again_on = link;
        return;
    }
    if (!lobby.seeking)
        return object(scene, "A-6", "an offer for a lobby that nobody asked for", message.lobby, server->id);
    SeenOffer* chosen = on_server(lobby, server->id);
    if (!chosen || chosen->state != SeenOffer::State::chosen)
        return object(scene, "invariant 6", "offered to a server that was not chosen, or twice", message.lobby,
                      server->id);
    if (!tokens_.insert(message.token.string()).second) {
        return object(scene, "invariant 8", "a token was given before", message.lobby, server->id);
    }
    if (lobby.offers.size() > offers_most)
        return object(scene, "invariant 6", "a fifth offer", message.lobby, server->id);
    if (unanswered_.contains({link, message.lobby})) {
        return object(scene, "A-7", "offered again before the old offer was answered", message.lobby, server->id);
    }
    if (server->region != lobby.region)
        return object(scene, "A-3", "offered in another region", message.lobby, server->id);
    const std::int32_t slots = held(server->id) + offered(server->id);  // its own, too
    if (slots > server->max_matches || server->busy() >= server->max_matches) {
        return object(scene, "invariant 1",
                      fmt::format("offered to a full server: {} slots taken, {} reported, {} at most", slots,
                                  server->busy(), server->max_matches),
                      message.lobby, server->id);
    }
    if (server->drained_by_server || server->drained_by_operator) {
        return object(scene, "invariant 12", "offered to a draining server", message.lobby, server->id);
    }
    chosen->link = link;
    chosen->token = message.token.string();
    chosen->state = SeenOffer::State::offered;
    chosen->offered_at = scene.running;
}

void SlotJudge::heard(const Scene& scene, LinkNumber link, const AllocateMatchAck& ack) {
    const KnownServer* server = registry_.speaker(link);
    if (!server) return;
    unanswered_.erase({link, ack.lobby});
    const auto found = lobbies_.find(ack.lobby);
    if (found == lobbies_.end()) return;
    SeenOffer* offer = on_server(found->second, server->id);
    if (offer && offer->state == SeenOffer::State::held && offer->asked_again_on == link) {
        if (ack.accepted) confirm(*offer, link);
        return;
    }
    if (!offer || offer->state != SeenOffer::State::offered || offer->link != link) return;
    // After a stop it may be heard before the timer that ends its request (fault 63).
    if (scene.now - found->second.asked >= request_time) {
        offer->answered_late = true;
        return;
    }
    if (ack.accepted) return hold(scene, ack.lobby, found->second, *offer);
    free_offer(*offer);
}

// The server holds it after the restart, too: from now on it is a match of its present registration.
void SlotJudge::confirm(SeenOffer& offer, LinkNumber link) {
    offer.link = link;
    offer.asked_again_on = 0;
    if (KnownServer* server = registry_.server(offer.server)) server->low_reports = 0;
}

// Who speaks of a match that was found at the start holds it.
void SlotJudge::spoke_of(LinkNumber link, ServerId by, LobbyId lobby) {
    const KnownServer* server = registry_.speaker(link);
    const auto found = lobbies_.find(lobby);
    if (!server || server->id != by || found == lobbies_.end()) return;
    SeenOffer* offer = on_server(found->second, server->id);
    if (offer && offer->state == SeenOffer::State::held && offer->link == 0) confirm(*offer, link);
}

void SlotJudge::said(const Scene&, LinkNumber link, const ValidateTokenResponse& answer) {
    const auto* accepted = std::get_if<ValidateTokenResponse::Accepted>(&answer.answer);
    const KnownServer* server = registry_.speaker(link);
    if (accepted && server) spoke_of(link, server->id, accepted->lobby);
}

void SlotJudge::hold(const Scene& scene, LobbyId id, SeenLobby& lobby, SeenOffer& offer) {
    if (const SeenOffer* other = lobby.held()) {
        return object(
            scene, "invariant 2",
            fmt::format("acknowledged on server {} and on server {}", other->server.value, offer.server.value), id,
            offer.server);
    }
    offer.state = SeenOffer::State::held;
    offer.held_since = scene.now;
    offer.reports_before = registry_.reports();
    --counts_[offer.server].offered;
    ++counts_[offer.server].held;
    registry_.touch(offer.server);
    if (KnownServer* server = registry_.server(offer.server)) server->low_reports = 0;
}

// F-7: a match that its server counted in its last report, and that has ended since, takes none of its slots.
void SlotJudge::heard(const Scene&, LinkNumber link, const MatchEndedReport& report) {
    spoke_of(link, report.server, report.lobby);
    const KnownServer* speaking = registry_.speaker(link);
    const auto found = lobbies_.find(report.lobby);
    if (!speaking || speaking->id != report.server || found == lobbies_.end()) return;
    SeenOffer* offer = on_server(found->second, speaking->id);
    if (!offer || offer->state != SeenOffer::State::held || std::exchange(offer->end_reported, true)) return;
    KnownServer& server = *registry_.server(speaking->id);
    if (offer->reports_before < server.report && server.ended_since < server.reported) ++server.ended_since;
    registry_.touch(server.id);
}

void SlotJudge::said(const Scene& scene, LinkNumber link, const AbortMatch& abort) {
    const KnownServer* server = registry_.speaker(link);
    const auto found = lobbies_.find(abort.lobby);
    if (!server || found == lobbies_.end()) return;
    SeenOffer* offer = on_server(found->second, server->id);
    // Of an earlier request, when this one was chosen and is not asked yet.
    if (!offer || offer->state == SeenOffer::State::over || offer->state == SeenOffer::State::chosen) return;
    if (offer->state == SeenOffer::State::offered) {
        if (!offer->answered_late) unanswered_.insert({link, abort.lobby});
        offer->timed_out = scene.running - offer->offered_at >= answer_time;
    }
    free_offer(*offer);
}

void SlotJudge::happened(const Scene& scene, const event::MatchOffered& event) {
    SeenLobby& lobby = lobbies_[event.lobby];
    if (on_server(lobby, event.server))
        return object(scene, "invariant 6", "one server is chosen twice", event.lobby, event.server);
    if (!lobby.offers.empty()) ++retries_;
    SeenOffer chosen{};
    chosen.server = event.server;
    chosen.state = SeenOffer::State::chosen;
    lobby.offers.push_back(chosen);
    ++counts_[event.server].offered;
    ++taken_;
    on_server_[event.server].insert(event.lobby);
    registry_.touch(event.server);
}

// Chosen, and passed over before it was asked.
void SlotJudge::happened(const Scene&, const event::MatchDeclined& event) {
    const auto found = lobbies_.find(event.lobby);
    SeenOffer* offer = found == lobbies_.end() ? nullptr : on_server(found->second, event.server);
    if (offer && offer->state == SeenOffer::State::chosen) free_offer(*offer);
}

void SlotJudge::happened(const Scene& scene, const event::MatchAllocated& event) {
    SeenLobby& lobby = lobbies_[event.lobby];
    const SeenOffer* held = lobby.held();
    if (!held || held->server != event.server) {
        return object(scene, "invariant 5", "a match is allocated without an acknowledgement on its registration",
                      event.lobby, event.server);
    }
    if (!lobby.seeking)
        return object(scene, "invariant 4", "a second verdict on one request", event.lobby, event.server);
    lobby.seeking = false;
    seeking_.erase(event.lobby);
    lobby.allocated = true;
    ++allocations_;
}

void SlotJudge::happened(const Scene& scene, const event::MatchRefused& event) {
    const auto found = lobbies_.find(event.lobby);
    if (found == lobbies_.end()) return;
    SeenLobby& lobby = found->second;
    // Somebody else asked for this lobby, and was refused.
    if (scene.cause == AllocationRequest::code && scene.cause_lobby == event.lobby) {
        const KnownLink* asker = registry_.link(scene.cause_link);
        if (asker && asker->matchmaker != lobby.matchmaker) return;
    }
    if (!lobby.seeking) return object(scene, "invariant 4", "a second verdict on one request", event.lobby);
    judge_refusal(scene, event.lobby, lobby, event.reason);
    close_lobby(event.lobby);
}

void SlotJudge::happened(const Scene& scene, const event::MatchEnded& event) {
    const auto found = lobbies_.find(event.lobby);
    if (found == lobbies_.end() || !found->second.allocated) {
        return object(scene, "invariant 7", "a match ends that was not allocated", event.lobby, event.server);
    }
    close_lobby(event.lobby);
}

void SlotJudge::happened(const Scene& scene, const event::MatchAborted& event) {
    const auto found = lobbies_.find(event.lobby);
    if (found == lobbies_.end() || !found->second.allocated) {
        return object(scene, "invariant 7", "a match is aborted that was not allocated", event.lobby, event.server);
    }
    close_lobby(event.lobby);
}

// Offers in flight to it have failed; what it runs goes on (F-6).
void SlotJudge::happened(const Scene&, const event::ServerOffline& event) {
    const KnownServer* server = registry_.server(event.server);
    const auto lobbies = on_server_.find(event.server);
    if (lobbies == on_server_.end()) return;
    for (const LobbyId id : std::set(lobbies->second)) {
        SeenOffer* offer = on_server(lobbies_[id], event.server);
        const bool sent = offer && offer->state == SeenOffer::State::offered;
        if (!sent && !(offer && offer->state == SeenOffer::State::chosen)) continue;
        // Its link may be alive: silent with much of its region.
        if (sent && server && server->link == offer->link) unanswered_.insert({offer->link, id});
        free_offer(*offer);
    }
}

void SlotJudge::happened(const Scene&, const event::ServerRemoved& event) {
    const auto lobbies = on_server_.find(event.server);
    if (lobbies == on_server_.end()) return;
    for (const LobbyId id : std::set(lobbies->second)) {
        SeenOffer* offer = on_server(lobbies_[id], event.server);
        if (offer && offer->state != SeenOffer::State::over) free_offer(*offer);
    }
    on_server_.erase(event.server);
    counts_.erase(event.server);
}

void SlotJudge::durable(Time, const RecordBatch& batch) {
    for (const Record& record : batch.records) {
        if (const auto* forgotten = std::get_if<MatchForgotten>(&record)) durable_.erase(forgotten->lobby);
        const auto* match = std::get_if<MatchRecord>(&record);
        if (!match) continue;
        if (is_over(match->state)) {
            durable_.erase(match->lobby);
        } else {
            durable_[match->lobby] = *match;
        }
    }
}

// Slots of the matches that were durable, and no others. What was only offered may be held, too (fault 65).
void SlotJudge::run_began(const Scene& scene, const Core& core) {
    lobbies_.clear();
    counts_.clear();
    on_server_.clear();
    unanswered_.clear();
    seeking_.clear();
    requests_ = 0;
    taken_ = freed_ = 0;
    for (const auto& [id, record] : durable_) {
        SeenLobby& lobby = lobbies_[id];
        lobby.matchmaker = record.matchmaker;
        lobby.region = record.region;
        lobby.player_count = record.player_count;
        lobby.allocated = true;
        lobby.recovered = true;
        SeenOffer offer{};
        offer.server = record.server;
        offer.token = record.token;
        offer.state = SeenOffer::State::held;
        lobby.offers.push_back(offer);
        ++counts_[record.server].held;
        ++taken_;
        on_server_[record.server].insert(id);
        registry_.touch(record.server);
    }
    pass_ended(scene, core);
}

void SlotJudge::pass_ended(const Scene& scene, const Core& core) {
    for (const ServerId id : registry_.touched()) recount(scene, core, id);
    if (counts_.size() <= 64) {
        std::int64_t now = 0;
        for (const auto& [id, one] : counts_) now += one.offered + one.held;
        if (taken_ - freed_ != now) object(scene, "invariant 7", "slots taken and freed are not those held", {});
    }

    for (const LobbyId id : seeking_) {
        for (const SeenOffer& offer : lobbies_[id].offers) {
            if (offer.state != SeenOffer::State::offered) continue;
            if (scene.running - offer.offered_at > answer_time + timer_slack && !scene.timers_left) {
                object(scene, "A-6", "an offer waits for longer than five seconds", id, offer.server);
            }
        }
    }
}

void SlotJudge::recount(const Scene& scene, const Core& core, ServerId id) {
    const Server* server = core.fleet().find(id);
    if (!server) return;  // the fleet's judge objects
    const Count& seen = count(id);
    if (server->offered != seen.offered || server->held != seen.held) {
        return object(scene, "invariant 7",
                      fmt::format("{} offered and {} held, but the wire says {} and {}", server->offered, server->held,
                                  seen.offered, seen.held),
                      {}, id);
    }
    const auto& listed = core.matches().held_on(id);
    if (listed.size() != static_cast<std::size_t>(seen.held)) {
        return object(scene, "invariant 7", "the list of a server's matches has another length than its slots", {}, id);
    }
    for (const LobbyId lobby : listed) {
        const SeenLobby* known = this->lobby(lobby);
        const SeenOffer* held = known ? known->held() : nullptr;
        const Match* match = core.matches().find(lobby);
        if (!held || held->server != id || !match || match->record.token != held->token) {
            return object(scene, "invariant 7", "core holds a match that the wire does not know", lobby, id);
        }
    }
}

// which "no" is told when.
void SlotJudge::judge_refusal(const Scene& scene, LobbyId id, const SeenLobby& lobby, std::string_view reason) {
    const bool timed_out =
        std::any_of(lobby.offers.begin(), lobby.offers.end(), [](const SeenOffer& offer) { return offer.timed_out; });
    const bool waited = std::any_of(lobby.offers.begin(), lobby.offers.end(), [&](const SeenOffer& offer) {
        return offer.link != 0 && scene.running - offer.offered_at >= answer_time;
    });
    if (reason == text(Refusal::no_servers_available)) {
        if (timed_out || lobby.offers.size() >= offers_most) {
            return object(scene, "A-6", "after a timeout, or four offers, the answer is a timeout", id);
        }
        for (const auto& [server_id, server] : registry_.servers()) {
            if (can_surely_take(scene, id, lobby, server)) {
                return object(scene, "A-3", "no servers available, but this one is", id, server_id);
            }
        }
    }
    const bool is_timeout = reason == text(Refusal::server_allocation_timeout);
    const bool out_of_time = scene.now - lobby.asked >= request_time - timer_slack;
    if (is_timeout && !waited && !out_of_time && lobby.offers.size() < offers_most) {
        object(scene, "A-6", "a timeout in time, without four offers, and none of them timed out", id);
    }
}

bool SlotJudge::can_surely_take(const Scene& scene, LobbyId id, const SeenLobby& lobby,
                                const KnownServer& server) const {
    if (server.link == 0 || server.region != lobby.region || scene.running - server.last_beat >= 14s) return false;
    if (server.drained_by_server || server.drained_by_operator) return false;
    if (std::max(server.busy(), held(server.id) + offered(server.id)) >= server.max_matches) return false;
    if (unanswered_.contains({server.link, id})) return false;
    return std::none_of(lobby.offers.begin(), lobby.offers.end(),
                        [&](const SeenOffer& offer) { return offer.server == server.id; });
}

const SeenLobby* SlotJudge::lobby(LobbyId id) const {
    const auto found = lobbies_.find(id);
    return found == lobbies_.end() ? nullptr : &found->second;
}

const SlotJudge::Count& SlotJudge::count(ServerId server) const {
    static const Count none;
    const auto found = counts_.find(server);
    return found == counts_.end() ? none : found->second;
}

void SlotJudge::object(const Scene& scene, std::string rule, std::string what, LobbyId lobby, ServerId server) {
    objections_.add({std::move(rule), std::move(what), lobby, server, scene.now});
}

SeenOffer* SlotJudge::on_server(SeenLobby& lobby, ServerId server) {
    for (SeenOffer& offer : lobby.offers) {
        if (offer.server == server) return &offer;
    }
    return nullptr;
}

void SlotJudge::free_offer(SeenOffer& offer) {
    Count& count = counts_[offer.server];
    --(offer.state == SeenOffer::State::held ? count.held : count.offered);
    offer.state = SeenOffer::State::over;
    ++freed_;
    registry_.touch(offer.server);
}

void SlotJudge::close_lobby(LobbyId id) {
    SeenLobby& lobby = lobbies_[id];
    for (SeenOffer& offer : lobby.offers) {
        if (offer.state != SeenOffer::State::over) free_offer(offer);
        if (const auto on = on_server_.find(offer.server); on != on_server_.end()) on->second.erase(id);
    }
    seeking_.erase(id);
    lobbies_.erase(id);
}

}  // namespace muster::sim

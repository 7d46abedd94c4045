#include "core/offers.h"

#include <memory>
#include <vector>

#include "base/planted.h"
#include "core/events.h"
#include "core/match_token.h"

namespace muster {

std::optional<Refusal> Offers::make(Match& match, int retries, UnixMs now) {
    if (match.offers() > static_cast<std::size_t>(retries) + (planted(Bug::fifth_offer) ? 1 : 0))
        return Refusal::server_allocation_timeout;
    // Those that still owe an answer to an old offer of this lobby are passed over too.
    std::vector<ServerId> passed_over = planted(Bug::server_tried_twice) ? std::vector<ServerId>{} : match.tried;
    const auto owing = old_.owed_for(match.lobby());
    passed_over.insert(passed_over.end(), owing.begin(), owing.end());
    const auto reservation = parts_.fleet.reserve(match.record.region, passed_over);
    if (!reservation)
        return match.offer_unanswered ? Refusal::server_allocation_timeout : Refusal::no_servers_available;

    const Server& server = *parts_.fleet.find(reservation->server);
    if (match.offers() > 0) ++parts_.figures.retries[match.record.region];
    match.tried.push_back(server.id);
    MatchRecord& record = match.record;
    record.state = MatchState::offering;
    record.server = server.id;
    record.server_epoch = reservation->epoch;
    record.server_ip = server.endpoint.ip.to_string();
    record.server_port = server.endpoint.port;
    record.token = make_match_token(parts_.entropy, match.lobby(), now);
    match.sent = false;
    parts_.matches.offered(match);
    parts_.events.publish(event::MatchOffered{match.lobby(), record.region, server.id, static_cast<int>(match.offers()),
                                              match.request_id, reservation->choice});
    return std::nullopt;
}

bool Offers::send(Match& match) {
    const MatchRecord& record = match.record;
    const Server* server = parts_.fleet.find(record.server);
    const bool as_chosen = server && server->epoch == record.server_epoch;
    const bool takes_matches = as_chosen && server->status() != ServerStatus::offline && !server->draining();
    // By its own word it may have run full meanwhile, of matches that Muster does not know.
    if (!takes_matches || server->reported_matches - server->ended_since_report >= server->max_matches) {
        over(match);
        return false;
    }
    match.sent = true;
    // What it was to drop of this lobby, it holds again from now on.
    parts_.fleet.owe_abort_no_more(server->endpoint, match.lobby());
    parts_.links.send(server->link,
                      AllocateMatch{match.lobby(), record.game_type, record.game_mode, MatchTokenText(record.token)});
    return true;
}

void Offers::take_back(Match& match, Reason reason) {
    const bool sent = match.sent;
    over(match);
    if (!sent) return;
    old_.add(match.record.server, match.lobby());
    if (!planted(Bug::withdrawn_offer_untold)) drop(match.record.server, match.lobby(), text(reason));
}

void Offers::lost(Match& match, const Endpoint& endpoint) {
    if (match.sent) parts_.fleet.owe_abort(endpoint, match.lobby());
    over(match);
}

void Offers::drop(ServerId id, LobbyId lobby, std::string_view reason) {
    const Server* server = parts_.fleet.find(id);
    if (!server) return;  // removed: its endpoint is owed the abort
    parts_.fleet.owe_abort(server->endpoint, lobby, server->connected());
    if (server->connected()) parts_.links.send(server->link, AbortMatch{lobby, ReasonText::cut(reason)});
}

void Offers::drop_when_durable(ServerId id, LobbyId lobby, std::string_view reason) {
    const Server* server = parts_.fleet.find(id);
    if (!server) return;
    parts_.fleet.owe_abort(server->endpoint, lobby, server->connected());
    if (!server->connected()) return;
    parts_.ledger.promise_written([&links = parts_.links, link = server->link,
                                   abort = std::make_unique<AbortMatch>(AbortMatch{lobby, ReasonText::cut(reason)})](
                                      Kept) { links.send(link, *abort); });
}

Offers::Answer Offers::answered(const Server& from, const AllocateMatchAck& ack) {
    Match* match = parts_.matches.find(ack.lobby);
    const bool awaited = match && match->offering() && match->sent &&
                         (planted(Bug::late_ack_accepted) ||
                          (match->record.server == from.id && match->record.server_epoch == from.epoch));
    if (!awaited) {
        unexpected(from, ack);
        return Answer::not_awaited;
    }
    if (!ack.accepted) {
        over(*match);
        return Answer::no;
    }
    parts_.timers.cancel(match->offer);
    parts_.matches.acknowledged(*match);
    parts_.fleet.acknowledged(match->record.server);
    match->reports_before = from.reports;
    return Answer::yes;
}

// The slot is free again.
void Offers::over(Match& match) {
    parts_.timers.cancel(match.offer);
    parts_.matches.offer_over(match);
    parts_.fleet.offer_over(match.record.server);
}

void Offers::unexpected(const Server& from, const AllocateMatchAck& ack) {
    ++parts_.figures.bad_acks;
    const bool was_owed = old_.answered(from.id, ack.lobby);
    const Match* match = parts_.matches.find(ack.lobby);
    const bool holds_it = match && !match->offering() && match->record.server == from.id;
    if (!ack.accepted || holds_it || planted(Bug::late_ack_kept)) return;
    if (was_owed) return drop(from.id, ack.lobby, text(Reason::offer_withdrawn));
    // Asked for by nobody: it is told, and nothing is written down for it.
    if (match) return parts_.links.send(from.link, AbortMatch{ack.lobby, ReasonText(text(Reason::offer_withdrawn))});
    abort_late(from.link, ack.lobby);
}

// Perhaps its match was over a moment ago: then that is durable first, as with any match that it holds. One abort
// answers all that is said of the lobby meanwhile.
void Offers::abort_late(ConnectionId link, LobbyId lobby) {
    std::set<LobbyId>& waiting = late_[link];
    if (waiting.contains(lobby)) return;
    const auto tell = [this, link, lobby] {
        parts_.links.send(link, AbortMatch{lobby, ReasonText(text(Reason::offer_withdrawn))});
    };
    if (waiting.size() >= late_of_link_max) return tell();
    waiting.insert(lobby);
    parts_.ledger.promise_written([this, tell, link, lobby](Kept) {
        const auto of = late_.find(link);
        of->second.erase(lobby);
        if (of->second.empty()) late_.erase(of);
        tell();
    });
}

}  // namespace muster

#include "core/offers.h"

#include <vector>

#include "base/planted.h"
#include "core/events.h"
#include "core/match_token.h"

namespace muster {

std::optional<Refusal> Offers::make(Match& match, int retries, UnixMs now) {
    if (match.offers() > static_cast<std::size_t>(retries + (planted(Bug::fifth_offer) ? 1 : 0)))
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
    parts_.matches.offered(match);
    // Written before anybody knows of it, but not waited for: after a crash the offer is known and can be taken back.
    parts_.ledger.write(record);
    parts_.links.send(server.link,
                      AllocateMatch{match.lobby(), record.game_type, record.game_mode, MatchTokenText(record.token)});
    parts_.events.publish(event::MatchOffered{match.lobby(), record.region, server.id, static_cast<int>(match.offers()),
                                              match.request_id, reservation->choice});
    return std::nullopt;
}

void Offers::take_back(Match& match, Reason reason) {
    const ServerId id = match.record.server;
    over(match);
    old_.add(id, match.lobby());
    if (const Server* server = parts_.fleet.find(id);
        server && server->connected() && !planted(Bug::withdrawn_offer_untold))
        parts_.links.send(server->link, AbortMatch{match.lobby(), ReasonText(text(reason))});
}

void Offers::lost(Match& match, const Endpoint& endpoint) {
    parts_.fleet.owe_abort(endpoint, match.lobby());
    over(match);
}

Offers::Answer Offers::answered(const Server& from, const AllocateMatchAck& ack) {
    Match* match = parts_.matches.find(ack.lobby);
    const bool awaited = match && match->offering() &&
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
    parts_.matches.offer_over(*match);
    parts_.fleet.acknowledged(match->record.server);
    match->reports_before = from.reports;
    parts_.matches.held(*match);
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
    old_.answered(from.id, ack.lobby);
    const Match* match = parts_.matches.find(ack.lobby);
    const bool holds_it = match && !match->offering() && match->record.server == from.id;
    if (ack.accepted && !holds_it && !planted(Bug::late_ack_kept))
        parts_.links.send(from.link, AbortMatch{ack.lobby, ReasonText(text(Reason::offer_withdrawn))});
}

}  // namespace muster

// What operators ask of core, over HTTP or the command line.
#include <string>
#include <utility>

#include "core/core.h"

namespace muster {

void Core::answer_when_durable(std::uint64_t question) {
    ledger_.promise_written([this, question](Kept kept) {
        using Verdict = Result<void, Refusal>;
        const bool durable = kept == Kept::durable;
        replies_.answer_question(question, durable ? Verdict() : Verdict(Failure(Refusal::store_unavailable)));
    });
}

bool Core::drain(ServerId id, bool draining, const DrainNote& note) {
    const Server* server = fleet_.find(id);
    if (!server) return false;
    const ServerStatus before = server->status();
    const ServerStatus status = fleet_.drain_by_operator(id, draining, note);
    if (status != before && server->connected()) links_.send(server->link, ServerStatusNotice{id, status});
    return true;
}

bool Core::remove_server(const Pass& pass, ServerId id) {
    const Server* server = fleet_.find(id);
    if (!server) return false;
    const ConnectionId link = server->link;
    fleet_.remove(pass, id, Reason::aborted_by_operator);
    if (Link* open = links_.find(link); open && !open->closing) say_last(pass, *open, Reason::aborted_by_operator);
    apply_facts(pass);
    return true;
}

void Core::allocate(const Pass& pass, const HttpAsker& asker, const AllocationRequest& request, std::string id) {
    matches_.request(pass, ReplyTo::question(asker.question), matchmaker_of(asker), request, pass.now, std::move(id));
}

void Core::set_players(const Pass& pass, const HttpAsker& asker, const MatchPlayers& list) {
    matches_.players(pass, ReplyTo::question(asker.question), matchmaker_of(asker), list);
}

bool Core::cancel_match(const Pass& pass, const HttpAsker& asker, LobbyId lobby, std::string_view reason) {
    const Match* match = matches_.find(lobby);
    if (!match || match->record.matchmaker != matchmaker_of(asker).id) return false;
    // Of a request that nobody was promised yet there is no match that could end with a reason.
    if (match->offering() || reason.empty()) {
        matches_.cancel(pass, ReplyTo::question(0), matchmaker_of(asker), lobby);
        return true;
    }
    return matches_.abort(pass, lobby, reason);
}

// One that may ask for every region.
Matchmaker Core::matchmaker_of(const HttpAsker& asker) const {
    Matchmaker asking;
    asking.id = http_matchmaker_id(asker.operator_name);
    for (const Region& region : fleet_.config().regions) asking.regions.push_back(region.id);
    return asking;
}

bool Core::abort_match(const Pass& pass, LobbyId lobby, std::string_view reason) {
    return matches_.abort(pass, lobby, reason.empty() ? text(Reason::aborted_by_operator) : reason);
}

bool Core::kick(const Pass& pass, AccountId player, std::string_view reason) {
    return players_.kick(pass, player, reason);
}

Blocks::Verdict Core::block(const Pass& pass, std::uint64_t question, BlockRecord wanted, Duration length,
                            event::OperatorAction done) {
    wanted.blocked_at = issued_.at(pass.now);
    if (length > Duration::zero())
        wanted.until =
            UnixMs{wanted.blocked_at.value + std::chrono::duration_cast<std::chrono::milliseconds>(length).count()};
    return blocks_.add(question, wanted, std::move(done));
}

void Core::set_clock(const Pass& pass, std::optional<GameTime> time, std::optional<std::int32_t> speed) {
    world_.set(pass, time, speed);
}

}  // namespace muster

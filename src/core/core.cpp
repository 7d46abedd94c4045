#include "core/core.h"

#include <utility>
#include <vector>

#include "base/check.h"
#include "base/planted.h"
#include "core/block_value.h"
#include "core/events.h"
#include "protocol/greeting.h"
#include "protocol/messages.h"
#include "protocol/refusal_answer.h"

namespace muster {
namespace {

std::array<ByteOrder, 3> byte_orders_of(const CoreConfig& config) {
    return {default_byte_order(Port::servers), default_byte_order(Port::matchmakers), config.player_order};
}

}  // namespace

Core::Core(CoreConfig config, const Parts& parts, RecoveredState recovered)
    : log_(parts.log),
      issued_(parts.loop.time().now(), parts.wall),
      ledger_(parts.store, parts.log, config.ledger),
      ids_(ledger_, recovered.numbers, config.share.server_ids),
      links_(parts.links, byte_orders_of(config)),
      replies_(links_),
      matchmakers_(config.matchmakers, parts.loop.timers()),
      fleet_(config.fleet, {parts.loop.timers(), parts.loop.events(), parts.log, ledger_, ids_}),
      players_(config.players, {parts.loop.time(), parts.loop.timers(), parts.loop.events(), parts.log, links_, issued_,
                                parts.entropy}),
      notices_(links_, players_, config.others_have_players ? &ledger_ : nullptr),
      matches_(config.matches, {parts.loop.time(), parts.loop.timers(), parts.loop.events(), parts.log, ledger_, links_,
                                replies_, fleet_, matchmakers_, issued_, parts.entropy, notices_}),
      accounts_(ledger_, recovered.accounts, config.share.accounts),
      world_(config.world,
             {parts.loop.time(), parts.loop.timers(), parts.loop.events(), parts.log, ledger_, links_,
              players_.sessions()},
             recovered),
      wrong_secrets_(links_, parts.loop.timers(), parts.log, config.wrong_secrets_per_minute),
      operators_({ledger_, replies_, parts.loop.events()}, recovered.operators),
      blocks_({ledger_, replies_, parts.loop.events()}, recovered.blocks),
      refused_registrations_(parts.loop.events(), parts.log, fleet_.config().regions),
      server_port_({links_, replies_, ledger_, fleet_, matches_, issued_, parts.loop.timers(), wrong_secrets_,
                    refused_registrations_},
                   std::move(config.server_token)),
      hosts_(config.hosts, {parts.loop.timers(), parts.loop.events(), parts.log, links_, issued_, ledger_}),
      host_port_({links_, hosts_, fleet_, server_port_, issued_, wrong_secrets_, refused_registrations_}),
      matchmaker_port_(links_, replies_, matchmakers_, fleet_, matches_, issued_, wrong_secrets_,
                       refused_registrations_, std::move(config.matchmaker_token)),
      player_port_({parts.clock, parts.loop.time(), parts.log, links_, players_, world_, notices_, accounts_, issued_,
                    wrong_secrets_, blocks_},
                   std::move(config.player_credential), config.players.logins_per_minute),
      region_figures_(parts.loop.events(), fleet_.config().regions),
      losses_(parts.loop.events(), recovered.numbers.server_ids_below > NumbersReserved{}.server_ids_below),
      history_(parts.loop.events(), ledger_, ids_, issued_) {
    const Pass pass{parts.loop.time().now(), parts.loop.time().running()};
    ids_.reserve();
    fleet_.recover(pass, recovered.servers, recovered.owed_aborts);
    hosts_.recover(pass, recovered);
    matches_.recover(pass, std::move(recovered));
    parts.loop.events().subscribe<event::PlayerClosed>(
        [this](const event::PlayerClosed& closed) { notices_.player_left(closed.player); });
    parts.loop.events().subscribe<event::MatchOffered>([this](const event::MatchOffered& offered) {
        host_port_.match_offered(offered.server, offered.lobby, matches_.lists().accounts(offered.lobby));
    });
    parts.loop.on_update([this](const Pass& now) {
        apply_facts(now);  // what timers found
        history_.write_waiting();
        return players_.update(now) + world_.update(now) + matches_.update(now);
    });
}

void Core::configure(CoreConfig config) {
    fleet_.configure(std::move(config.fleet));
    hosts_.configure(config.hosts);
    matchmakers_.configure(std::move(config.matchmakers));
    matches_.configure(config.matches);
    players_.configure(config.players);
    wrong_secrets_.configure(config.wrong_secrets_per_minute);
    player_port_.configure(std::move(config.player_credential), config.players.logins_per_minute);
    server_port_.configure(std::move(config.server_token));
    matchmaker_port_.configure(std::move(config.matchmaker_token));
}

void Core::opened(const Pass& pass, ConnectionId id, Port port, const IpAddress& peer, std::string_view name) {
    if (!planted(Bug::slot_reuse_aborts)) end_outlived(pass, id);
    Link* link = links_.opened(id, port, peer, name);
    if (!link) {
        ++stale_messages_;
        return;
    }
    link->opened = ShortTime(pass.running);
    if (blocks_.has_ip(peer, issued_.at(pass.now))) close_blocked(pass, *link);
}

// A newer connection is in its slot, so it is gone, even if the report of that is still on its way.
void Core::end_outlived(const Pass& pass, ConnectionId newer) {
    if (const Link* link = links_.outlived_by(newer)) end(pass, *link);
}

void Core::frame(const Pass& pass, ConnectionId id, const PeerFrame& frame) {
    take(pass, id, frame);
    const bool found = fleet_.has_facts() || matches_.has_listed() || matchmakers_.has_silent();
    if (found || replies_.has_flooding()) apply_facts(pass);
}

// Nothing calls back into core: what the fleet and the matchmakers found is applied here, in the order it happened.
void Core::apply_facts(const Pass& pass) {
    close_flooding(pass);
    for (const ConnectionId silent : matchmakers_.take_silent()) {
        if (Link* link = links_.find(silent)) links_.close(*link);
    }
    for (const LobbyId lobby : matches_.take_listed()) {
        const Match* match = matches_.find(lobby);
        if (match) host_port_.match_offered(match->record.server, lobby, matches_.lists().accounts(lobby));
    }
    for (const FleetFact& fact : fleet_.take_facts()) {
        const Server* server = fleet_.find(fact.server);
        switch (fact.kind) {
            case FleetFact::Kind::registered:
                if (server && server->connected()) matches_.server_registered(*server);
                break;
            case FleetFact::Kind::offline:
                matches_.server_offline(pass, fact);
                break;
            case FleetFact::Kind::removed:
                matches_.server_removed(pass, fact);
                if (fact.reason == Reason::server_lost && fact.link.generation != 0) server_port_.timed_out(fact.link);
                break;
            case FleetFact::Kind::load_covered:
                if (server) matches_.load_covered(pass, *server);
                break;
            case FleetFact::Kind::load_mismatch:
                if (server) matches_.load_mismatch(pass, *server);
                break;
        }
    }
}

// Answers that wait are bytes that cannot be sent: a peer that makes Muster keep too many is dropped, as one that does
// not read (W-7).
void Core::close_flooding(const Pass& pass) {
    for (const ConnectionId id : replies_.take_flooding()) {
        Link* link = links_.find(id);
        if (!link || link->closing) continue;
        log_.with(LogLevel::warning, {{"port", to_string(link->port)}, {"peer", link->peer.to_string()}},
                  "Closed a connection: {} of its answers wait", replies_.size(id));
        replies_.closed(id);
        say_last(pass, *link, Reason::too_many_messages);
    }
}

void Core::take(const Pass& pass, ConnectionId id, const PeerFrame& frame) {
    Link* link = links_.find(id);
    if (!link || link->closing) {
        ++stale_messages_;
        return;
    }
    switch (classify(link->port, Direction::in, frame.code)) {
        case CodeClass::unknown_code:
            return refuse(pass, *link, frame, WireError::unknown_code);
        case CodeClass::wrong_direction:
            return refuse(pass, *link, frame, WireError::wrong_direction);
        case CodeClass::known:
            break;
    }
    const bool greeting = is_greeting(link->port, frame.code);
    if (!link->greeted && !greeting) return refuse(pass, *link, frame, WireError::before_handshake);
    if (link->greeted && greeting) return refuse(pass, *link, frame, WireError::second_handshake);

    // A link speaks for a game server or for a host, as it began.
    const bool of_hosts = link->port == Port::servers && is_host_code(frame.code);
    if (link->greeted && of_hosts != link->host) return refuse(pass, *link, frame, WireError::before_handshake);

    Result<void, WireError> read = Failure(WireError::unknown_code);
    if (of_hosts) read = host_port_.frame(pass, *link, frame);
    if (link->port == Port::servers && !of_hosts) read = server_port_.frame(pass, *link, frame);
    if (link->port == Port::matchmakers) read = matchmaker_port_.frame(pass, *link, frame);
    if (link->port == Port::players) read = player_port_.frame(pass, *link, frame);
    if (read) return;
    if (Link* still = links_.find(id)) refuse(pass, *still, frame, read.error());
}

void Core::malformed(const Pass& pass, ConnectionId id, WireError kind) {
    Link* link = links_.find(id);
    if (link && !link->closing) refuse(pass, *link, PeerFrame{}, kind);
    apply_facts(pass);
}

// Says what is wrong and closes: whoever breaks the protocol once will not be understood better the next time (W-6).
void Core::refuse(const Pass& pass, Link& link, const PeerFrame& frame, WireError kind) {
    ++protocol_errors_[static_cast<std::size_t>(link.port)][static_cast<std::size_t>(kind)];
    log_.with(LogLevel::warning,
              {{"port", to_string(link.port)}, {"peer", link.peer.to_string()}, {"code", frame.code}},
              "Refused a frame: {}", to_string(kind));
    std::vector<std::byte> answer;
    malformed_answer({link.port, links_.order(link.port), link.greeted, frame.code, frame.payload}, kind, answer);
    links_.close_with(link, answer);
    const bool again = kind == WireError::second_handshake;
    speaks_no_more(pass, link, again ? text(Refusal::already_logged_in) : malformed_text(kind));
}

// We have said our last word on this link: for us it is gone now, not only when the peer has read it.
void Core::speaks_no_more(const Pass& pass, const Link& link, std::string_view reason) {
    if (!link.greeted) return;
    switch (link.port) {
        case Port::servers:
            if (link.host) return hosts_.link_lost(pass, link.host_number(), link.id);
            return fleet_.link_lost(pass, link.server(), link.id);
        case Port::matchmakers:
            return matchmakers_.link_lost(link.matchmaker(), link.id);
        case Port::players:
            return players_.link_closed(pass, link, reason);
    }
}

void Core::gave_up(const Pass& pass, ConnectionId id, LinkFault fault) {
    Link* link = links_.find(id);
    if (!link || link->closing) return;
    switch (fault) {
        case LinkFault::handshake_deadline:
            // The acceptance and the deadline crossed on their ways; the network lets the link go on.
            if (link->greeted) return;
            say_last(pass, *link, Reason::handshake_timeout);
            break;
        case LinkFault::flooded:
            say_last(pass, *link, Reason::too_many_messages);
            break;
        case LinkFault::frame_deadline:
            refuse(pass, *link, PeerFrame{}, WireError::truncated);
            break;
    }
    apply_facts(pass);
}

void Core::say_last(const Pass& pass, Link& link, Reason reason) {
    switch (link.port) {
        case Port::servers:
            links_.send(link.id, ServerError{0, ErrorText(text(reason))});
            break;
        case Port::matchmakers:
            links_.send(link.id, MatchmakerError{0, ErrorText(text(reason))});
            break;
        case Port::players:
            links_.send(link.id, ServerClose{ReasonText(text(reason))});
            break;
    }
    links_.close(link);
    speaks_no_more(pass, link, text(reason));
}

void Core::paused(const Pass& pass, ConnectionId id) {
    Link* link = links_.find(id);
    if (!link || link->paused) return;
    links_.pause(*link, pass.running);
    if (!link->greeted) return;
    if (link->host) return hosts_.paused(pass, link->host_number());
    if (link->port == Port::servers) fleet_.paused(pass, link->server(), id);
    if (link->port == Port::matchmakers) matchmakers_.paused(pass, link->matchmaker());
}

// What Muster did not read does not count as the peer's silence (B-1).
void Core::resumed(const Pass& pass, ConnectionId id) {
    Link* link = links_.find(id);
    if (!link || !link->paused) return;
    const Duration unread = pass.running - links_.resume(*link);
    if (!link->greeted) return;
    if (link->host) return hosts_.resumed(pass, link->host_number());
    if (link->port == Port::servers) fleet_.resumed(pass, link->server(), id);
    if (link->port == Port::matchmakers) matchmakers_.resumed(pass, link->matchmaker());
    if (const auto place = players_.of(*link); link->port == Port::players && place != Sessions::none)
        players_.unread(place, unread);
}

void Core::closed(const Pass& pass, ConnectionId id) {
    end_outlived(pass, id);
    if (const Link* link = links_.find(id)) return end(pass, *link);
    links_.closed(id);
    ++stale_messages_;
}

void Core::end(const Pass& pass, const Link& link) {
    if (link.port == Port::players) {
        player_port_.closed(link.id);
        players_.link_lost(pass, link);
    }
    const Link ended = link;
    links_.closed(ended.id);
    replies_.closed(ended.id);
    if (!ended.greeted) return;
    if (ended.host) return hosts_.link_lost(pass, ended.host_number(), ended.id);
    if (ended.port == Port::servers) fleet_.link_lost(pass, ended.server(), ended.id);
    if (ended.port == Port::matchmakers) matchmakers_.link_lost(ended.matchmaker(), ended.id);
    apply_facts(pass);
}

void Core::drained(ConnectionId id) {
    matches_.link_drained(id);
}

void Core::handler_failed(const Pass& pass, ConnectionId id) {
    Link* link = links_.find(id);
    if (link && !link->closing) say_last(pass, *link, Reason::internal_error);
    apply_facts(pass);
}

void Core::store_outcome(const Pass& pass, BatchOutcome outcome) {
    ledger_.outcome(pass.running, std::move(outcome));
    for (const BlockRecord& block : blocks_.take_new()) enforce(pass, block);
}

// Who is here already is told, as who comes is.
void Core::enforce(const Pass& pass, const BlockRecord& block) {
    switch (block.kind) {
        case BlockKind::ip: {
            const auto range = IpRange::parse(block.value);
            std::vector<ConnectionId> hit;
            links_.for_each([&](const Link& link) {
                if (range && range->contains(link.peer) && !link.closing) hit.push_back(link.id);
            });
            for (const ConnectionId id : hit) {
                if (Link* link = links_.find(id); link && !link->closing) close_blocked(pass, *link);
            }
            break;
        }
        case BlockKind::account:
            close_blocked(pass, players_.sessions().find(account_of(block)));
            break;
        case BlockKind::name:
            close_blocked(pass, players_.sessions().find(std::string_view(block.value)));
            break;
    }
    apply_facts(pass);
}

void Core::close_blocked(const Pass& pass, Players::Place session) {
    if (players_.block(pass, session)) ++blocked_links_[static_cast<std::size_t>(Port::players)];
}

void Core::close_blocked(const Pass& pass, Link& link) {
    ++blocked_links_[static_cast<std::size_t>(link.port)];
    if (blocked_addresses_.add(pass.running, link.peer).now == 1) {
        log_.with(LogLevel::warning, {{"port", to_string(link.port)}, {"peer", link.peer.to_string()}},
                  "Closed a connection: its address is blocked");
    }
    say_last(pass, link, Reason::blocked);
}

void Core::end_of_pass(const Pass& pass) {
    player_port_.end_of_pass();
    // While the store is down everything that would be promised is refused: somebody must try.
    if (!ledger_.store_up() && !ledger_.waiting() && ledger_.in_flight() == 0) ids_.write_again();
    // Refused at the start: nobody can come and ask for a number, so they are asked for again here.
    if (!ids_.ready()) ids_.reserve();
    ledger_.end_of_pass(pass.running);
}

void Core::observe_wall(const Pass& pass, UnixMs wall) {
    blocks_.expire(issued_.at(pass.now));
    if (issued_.observe(pass.now, wall)) log_.warning("The machine's date was changed by more than half a second");
}

void Core::take_news(const Pass& pass, const CellNews& news) {
    if (news.clock) world_.follow(pass, news.clock->as_of, news.clock->shown);
    if (news.rules) blocks_.follow(news.rules->blocks);
    for (const BlockRecord& block : blocks_.take_new()) enforce(pass, block);
    for (const CellNews::Notice& one : news.notices) {
        notices_.take(one.notice);
        ledger_.write(NoticeTold{one.number});
    }
}

void Core::shut_down(const Pass& pass) {
    matches_.shut_down(pass);
    player_port_.shut_down();
    players_.shut_down(pass);
    world_.save(pass);
    links_.for_each([&](Link& link) {
        if (link.port == Port::players && !link.closing) say_last(pass, link, Reason::server_shutting_down);
    });
}

std::uint64_t Core::protocol_errors(Port port, WireError kind) const {
    return protocol_errors_[static_cast<std::size_t>(port)][static_cast<std::size_t>(kind)];
}

}  // namespace muster

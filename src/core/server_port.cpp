#include "core/server_port.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/planted.h"
#include "protocol/dispatch.h"
#include "protocol/refusal_answer.h"

namespace muster {
namespace {

ErrorText error(Refusal why) {
    return ErrorText(text(why));
}

std::string claimed_endpoint(const ServerHandshake& hello) {
    return fmt::format("{}:{}", hello.endpoint.ip.view(), hello.endpoint.port);
}

}  // namespace

ServerPort::ServerPort(const Parts& parts, TokenCheck token_check)
    : links_(parts.links),
      replies_(parts.replies),
      ledger_(parts.ledger),
      fleet_(parts.fleet),
      matches_(parts.matches),
      issued_(parts.issued),
      timers_(parts.timers),
      wrong_secrets_(parts.wrong_secrets),
      refused_(parts.refused),
      token_check_(std::move(token_check)) {}

struct ServerPort::Visitor {
    ServerPort& port;
    const Pass& pass;
    Link& link;
    const PeerFrame& frame;

    void operator()(const ServerHandshake& hello) const { port.handshake(pass, link, hello); }
    void operator()(const ServerHeartbeat& beat) const { port.heartbeat(pass, link, beat, frame); }
    void operator()(const SetDraining& wish) const { port.set_draining(pass, link, wish); }
    void operator()(const ServerGoodbye& wish) const {
        port.leave(pass, link, wish.server, ServerGoodbye::code, Reason::server_left);
    }
    void operator()(const ServerCrashed& said) const {
        port.leave(pass, link, said.server, ServerCrashed::code, Reason::server_crashed);
    }
    // Core sends these to the host port.
    void operator()(const HostMessage auto&) const {}

    void operator()(const AllocateMatchAck& ack) const {
        if (const Server* server = port.speaker(link, link.server())) port.matches_.acknowledge(pass, *server, ack);
    }
    void operator()(const ReadyForMatch& report) const {
        const Server* server = port.speaker(link, report.server);
        const auto done = server ? port.matches_.ready(pass, *server, report) : Failure(Refusal::server_not_registered);
        answer<ReadyForMatchResponse>(report.lobby, done);
    }
    void operator()(const MatchStartedReport& report) const {
        const Server* server = port.speaker(link, report.server);
        const auto done =
            server ? port.matches_.started(pass, *server, report.lobby) : Failure(Refusal::server_not_registered);
        answer<MatchResponse>(report.lobby, done);
    }
    void operator()(const MatchEndedReport& report) const {
        const Server* server = port.speaker(link, report.server);
        const auto done =
            server ? port.matches_.ended(pass, *server, report.lobby) : Failure(Refusal::server_not_registered);
        answer<MatchResponse>(report.lobby, done);
    }
    void operator()(const ValidateToken& request) const {
        if (const Server* server = port.speaker(link, request.server)) {
            return port.matches_.validate(pass, port.replies_.expect(link.id, request.lobby), *server, request);
        }
        const ValidateTokenResponse::Refused refused{request.lobby, request.account,
                                                     error(Refusal::server_not_registered)};
        port.replies_.answer_at_once(link.id, request.lobby, ValidateTokenResponse{refused});
    }

    // What a report changed holds at once. A yes leaves when it is durable, so that no crash undoes it. Without
    // the disk, or when it takes longer than a request may, the server hears that, and says it again.
    template <class M>
    void answer(LobbyId lobby, const Result<void, Refusal>& done) const {
        if (!done) return port.replies_.answer_at_once(link.id, lobby, M{LobbyRefused{lobby, error(done.error())}});
        const ReplyTo to = port.replies_.expect(link.id, lobby);
        if (planted(Bug::report_answered_before_disk)) return port.replies_.answer(to, M{LobbyAccepted{lobby}});
        const TimerId limit = port.timers_.start(
            {.first_delay = port.matches_.limit_delay(), .base = TimeBase::real},
            [&replies = port.replies_, to](const TimerFired&) { replies.answer(to, not_kept<M>(to.lobby)); });
        port.ledger_.promise_written([&port = port, to, limit](Kept kept) {
            port.timers_.cancel(limit);
            if (kept == Kept::durable) return port.replies_.answer(to, M{LobbyAccepted{to.lobby}});
            port.replies_.answer(to, not_kept<M>(to.lobby));
        });
    }
    template <class M>
    static M not_kept(LobbyId lobby) {
        return M{LobbyRefused{lobby, error(Refusal::store_unavailable)}};
    }
};

Result<void, WireError> ServerPort::frame(const Pass& pass, Link& link, const PeerFrame& frame) {
    const ByteOrder order = links_.order(Port::servers);
    const bool registered = !link.greeted || speaker(link, link.server()) != nullptr;
    if (registered)
        return visit_inbound<Port::servers>(order, frame.code, frame.payload, Visitor{*this, pass, link, frame});

    // Its server was removed for silence: one last answer.
    std::vector<std::byte> answer;
    const Refusal why =
        frame.code == ServerHeartbeat::code ? Refusal::server_disconnected : Refusal::server_not_registered;
    refusal_answer({Port::servers, order, true, frame.code, frame.payload}, text(why), answer);
    links_.close_with(link, answer);
    return {};
}

void ServerPort::handshake(const Pass& pass, Link& link, const ServerHandshake& hello) {
    if (!accepts(link, hello.token.view())) {
        refused_.note(pass.now,
                      {Port::servers, link.peer, claimed_endpoint(hello), hello.region, Refusal::invalid_token});
        const ServerHandshakeResponse refused{Refused{error(Refusal::invalid_token)}};
        return wrong_secrets_.refuse(pass, link, refused);
    }
    const auto registration = fleet_.handshake(pass, link.id, hello, issued_.at(pass.now), links_.proven_name(link));
    if (!registration) {
        refused_.note(pass.now,
                      {Port::servers, link.peer, claimed_endpoint(hello), hello.region, registration.error()});
        links_.send(link.id, ServerHandshakeResponse{Refused{error(registration.error())}});
        return links_.close(link);
    }
    if (Link* replaced = links_.find(registration->replaced)) links_.close(*replaced);
    link.speaks_for(registration->server);
    links_.greeted(link);
    links_.send(link.id,
                ServerHandshakeResponse{ServerHandshakeResponse::Accepted{registration->server, issued_.at(pass.now)}});
}

void ServerPort::heartbeat(const Pass& pass, Link& link, const ServerHeartbeat& beat, const PeerFrame& frame) {
    const auto heard = fleet_.heartbeat(pass, link.id, beat, frame.received, frame.rtt_us);
    if (heard) return links_.send(link, ServerHeartbeatAck{ServerHeartbeatAck::Accepted{issued_.at(pass.now)}});
    links_.send(link, ServerHeartbeatAck{Refused{error(heard.error())}});
}

void ServerPort::set_draining(const Pass& pass, Link& link, const SetDraining& wish) {
    if (!speaker(link, wish.server)) {
        return links_.send(link.id, ServerError{SetDraining::code, error(Refusal::server_not_registered)});
    }
    fleet_.drain_by_server(wish.server, wish.draining, issued_.at(pass.now));
    ledger_.promise_written([this, id = link.id, named = wish.server](Kept kept) {
        const Server* server = fleet_.held_by(id, named);
        if (!server) return;  // gone, or heard on another link since
        if (kept == Kept::durable) return links_.send(id, ServerStatusNotice{named, server->status()});
        links_.send(id, ServerError{SetDraining::code, error(Refusal::store_unavailable)});
    });
}

void ServerPort::leave(const Pass& pass, Link& link, ServerId server, Code code, Reason reason) {
    if (!speaker(link, server)) {
        return links_.send(link.id, ServerError{code, error(Refusal::server_not_registered)});
    }
    fleet_.remove(pass, server, reason);
    links_.close(link);
}

void ServerPort::timed_out(ConnectionId link) {
    timers_.start({.first_delay = fleet_.config().heartbeat_timeout}, [this, link](const TimerFired&) {
        if (Link* open = links_.find(link)) links_.close(*open);
    });
}

}  // namespace muster

#include "core/matchmaker_port.h"

#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "protocol/dispatch.h"

namespace muster {
namespace {

// A certificate's matchmakers have its name for their id, or begin with it and a dot: "eu", "eu.1" (S-2). Another's id
// would give them the other's matches.
bool is_of(std::string_view id, std::string_view certified) {
    return id.starts_with(certified) && (id.size() == certified.size() || id[certified.size()] == '.');
}

}  // namespace

MatchmakerPort::MatchmakerPort(LinkTable& links, Replies& replies, Matchmakers& matchmakers, Fleet& fleet,
                               Matches& matches, IssuedTime& issued, WrongSecrets& wrong_secrets,
                               RefusedRegistrations& refused, TokenCheck token_check)
    : links_(links),
      replies_(replies),
      matchmakers_(matchmakers),
      fleet_(fleet),
      matches_(matches),
      issued_(issued),
      wrong_secrets_(wrong_secrets),
      refused_(refused),
      token_check_(std::move(token_check)) {}

struct MatchmakerPort::Visitor {
    MatchmakerPort& port;
    const Pass& pass;
    Link& link;
    Time received;

    void operator()(const MatchmakerHandshake& hello) const { port.handshake(pass, link, hello); }
    void operator()(const MatchmakerHeartbeat&) const {
        port.links_.send(link.id, MatchmakerHeartbeatAck{{}, port.issued_.at(pass.now)});
    }
    void operator()(const AllocationRequest& request) const {
        port.matches_.request(pass, port.replies_.expect(link.id, request.lobby), speaker(), request, received);
    }
    void operator()(const CancelMatch& wish) const {
        port.matches_.cancel(pass, port.replies_.expect(link.id, wish.lobby), speaker(), wish.lobby);
    }
    void operator()(const MatchPlayers& list) const {
        port.matches_.players(pass, port.replies_.expect(link.id, list.lobby), speaker(), list);
    }

    const Matchmaker& speaker() const {
        const Matchmaker* matchmaker = port.matchmakers_.find(link.matchmaker());
        MUSTER_CHECK(matchmaker != nullptr, "a greeted link that is not closing has its matchmaker");
        return *matchmaker;
    }
};

Result<void, WireError> MatchmakerPort::frame(const Pass& pass, Link& link, const PeerFrame& frame) {
    if (link.greeted) matchmakers_.heard(pass, link.matchmaker());
    return visit_inbound<Port::matchmakers>(links_.order(Port::matchmakers), frame.code, frame.payload,
                                            Visitor{*this, pass, link, frame.received});
}

void MatchmakerPort::handshake(const Pass& pass, Link& link, const MatchmakerHandshake& hello) {
    // Who has proven who it is needs no secret that all share (S-2).
    if (!link.proven && !token_check_(hello.token.view())) {
        refused_.note(pass.now, {Port::matchmakers, link.peer, hello.matchmaker.string(), {}, Refusal::invalid_token});
        const MatchmakerHandshakeResponse refused{Refused{ErrorText(text(Refusal::invalid_token))}};
        return wrong_secrets_.refuse(pass, link, refused);
    }
    const std::string_view certified = links_.proven_name(link);
    const bool anothers = link.proven && !is_of(hello.matchmaker.view(), certified);
    const Result<Matchmakers::Greeting, Refusal> greeting =
        anothers ? Failure(Refusal::invalid_matchmaker_id) : matchmakers_.handshake(pass, link.id, hello);
    if (!greeting) {
        std::string claimed = hello.matchmaker.string();
        if (anothers) claimed += fmt::format(" by {}'s certificate", certified);
        refused_.note(pass.now, {Port::matchmakers, link.peer, std::move(claimed), {}, greeting.error()});
        links_.send(link.id, MatchmakerHandshakeResponse{Refused{ErrorText(text(greeting.error()))}});
        return links_.close(link);
    }
    if (Link* replaced = links_.find(greeting->replaced)) links_.close(*replaced);
    link.speaks_for(greeting->number);
    links_.greeted(link);
    const Matchmaker& matchmaker = *matchmakers_.find(greeting->number);
    links_.send(link.id, MatchmakerHandshakeResponse{welcome(pass, matchmaker)});
    matches_.matchmaker_back(matchmaker);
}

// The Available servers of its regions, by ascending id, as many as fit one frame.
MatchmakerHandshakeResponse::Accepted MatchmakerPort::welcome(const Pass& pass, const Matchmaker& matchmaker) const {
    // What the frame holds beside the list, and an entry beside its address: code, flag, time, count; id, length, port,
    // region, capacity.
    constexpr std::size_t frame_max = 65535;
    constexpr std::size_t fixed = 2 + 1 + 8 + 4;
    constexpr std::size_t entry_fixed = 4 + 2 + 4 + 1 + 4;
    MatchmakerHandshakeResponse::Accepted accepted{issued_.at(pass.now), {}};
    std::size_t size = fixed;
    fleet_.for_each([&](const Server& server) {
        if (server.status() != ServerStatus::available || !matchmaker.serves(server.region)) return;
        const std::string ip = server.endpoint.ip.to_string();
        size += entry_fixed + ip.size();
        if (size > frame_max) return;
        accepted.servers.items.push_back(
            {server.id, GameEndpoint{IpText(ip), server.endpoint.port}, server.region, server.max_matches});
    });
    return accepted;
}

}  // namespace muster

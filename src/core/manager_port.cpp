#include "core/manager_port.h"

#include <utility>

#include "base/check.h"
#include "protocol/dispatch.h"

namespace muster {

ManagerPort::ManagerPort(LinkTable& links, ChatServers& chat_servers, Fleet& fleet, Matches& matches,
                         IssuedTime& issued, TokenCheck token_check)
    : links_(links),
      chat_servers_(chat_servers),
      fleet_(fleet),
      matches_(matches),
      issued_(issued),
      token_check_(std::move(token_check)) {}

struct ManagerPort::Visitor {
    ManagerPort& port;
    const Pass& pass;
    Link& link;

    void operator()(const ManagerHandshake& hello) const { port.handshake(pass, link, hello); }
    void operator()(const ManagerHeartbeat&) const {
        port.links_.send(link.id, ManagerHeartbeatAck{{}, port.issued_.at(pass.now)});
    }
    void operator()(const AllocationRequest& request) const {
        port.matches_.request(pass, port.links_.take_ticket(link), speaker(), request);
    }
    void operator()(const CancelMatch& wish) const {
        port.matches_.cancel(pass, port.links_.take_ticket(link), speaker(), wish.lobby);
    }
    void operator()(const MatchPlayers& list) const {
        port.matches_.players(pass, port.links_.take_ticket(link), speaker(), list);
    }

    const ChatServer& speaker() const {
        const ChatServer* chat_server = port.chat_servers_.find(link.who);
        MUSTER_CHECK(chat_server != nullptr, "a greeted link that is not closing has its chat server");
        return *chat_server;
    }
};

Result<void, WireError> ManagerPort::frame(const Pass& pass, Link& link, const PeerFrame& frame) {
    if (link.greeted) chat_servers_.heard(pass, link.who);
    return visit_inbound<Port::managers>(links_.order(Port::managers), frame.code, frame.payload,
                                         Visitor{*this, pass, link});
}

void ManagerPort::handshake(const Pass& pass, Link& link, const ManagerHandshake& hello) {
    const auto greeting = token_check_(hello.token.view()) ? chat_servers_.handshake(pass, link.id, hello)
                                                           : Failure(Refusal::invalid_token);
    if (!greeting) {
        links_.answer(link, ManagerHandshakeResponse{Refused{ErrorText(text(greeting.error()))}});
        return links_.close(link);
    }
    if (Link* replaced = links_.find(greeting->replaced)) links_.close(*replaced);
    link.who = greeting->number;
    links_.greeted(link);
    const ChatServer& chat_server = *chat_servers_.find(greeting->number);
    links_.answer(link, ManagerHandshakeResponse{welcome(pass, chat_server)});
    matches_.chat_server_back(chat_server);
}

// The Available servers of its regions, by ascending id, as many as fit one frame.
ManagerHandshakeResponse::Accepted ManagerPort::welcome(const Pass& pass, const ChatServer& chat_server) const {
    // What the frame holds beside the list, and an entry beside its address: code, flag, time, count; id, length, port,
    // region, capacity.
    constexpr std::size_t frame_max = 65535;
    constexpr std::size_t fixed = 2 + 1 + 8 + 4;
    constexpr std::size_t entry_fixed = 4 + 2 + 4 + 1 + 4;
    ManagerHandshakeResponse::Accepted accepted{issued_.at(pass.now), {}};
    std::size_t size = fixed;
    fleet_.for_each([&](const Server& server) {
        if (server.status() != ServerStatus::available || !chat_server.serves(server.region)) return;
        const std::string ip = server.endpoint.ip.to_string();
        size += entry_fixed + ip.size();
        if (size > frame_max) return;
        accepted.servers.items.push_back(
            {server.id, GameEndpoint{IpText(ip), server.endpoint.port}, server.region, server.max_matches});
    });
    return accepted;
}

}  // namespace muster

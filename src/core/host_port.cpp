#include "core/host_port.h"

#include <utility>

#include <fmt/format.h>

#include "protocol/dispatch.h"

namespace muster {

struct HostPort::Visitor {
    HostPort& port;
    const Pass& pass;
    Link& link;

    void operator()(const HostHello& hello) const { port.hello(pass, link, hello); }
    void operator()(const HostReport& report) const { port.report(pass, link, report); }
    void operator()(const ProcessReport& report) const { port.report(pass, link, report); }
    void operator()(const ProcessDraining& wish) const { port.set_draining(pass, link, wish); }
    void operator()(const ProcessGone& gone) const {
        port.parts_.hosts.process_gone(link.host_number(), gone.process.view());
    }
    void operator()(const HostAnswer& answer) const { port.parts_.hosts.answered(link.host_number(), answer); }
    void operator()(const HostLogPart& part) const { port.parts_.hosts.log_part(link.host_number(), part); }
    void operator()(const HostGoodbye&) const {
        port.parts_.hosts.leave(link.host_number());
        port.parts_.links.close(link);
    }
    // Core sends all others to the server port.
    template <class M>
        requires(!HostMessage<M>)
    void operator()(const M&) const {}
};

Result<void, WireError> HostPort::frame(const Pass& pass, Link& link, const PeerFrame& frame) {
    return visit_inbound<Port::servers>(parts_.links.order(Port::servers), frame.code, frame.payload,
                                        Visitor{*this, pass, link});
}

void HostPort::hello(const Pass& pass, Link& link, const HostHello& hello) {
    if (!parts_.servers.accepts(link, hello.token.view())) {
        parts_.refused.note(pass.now, {Port::servers, link.peer, fmt::format("host {}", hello.host.view()),
                                       hello.region, Refusal::invalid_token});
        return parts_.wrong_secrets.refuse(pass, link, HostWelcome{Refused{ErrorText(text(Refusal::invalid_token))}});
    }
    const auto number = parts_.hosts.hello(pass, link, hello);
    if (!number) {
        parts_.links.send(link.id, HostWelcome{Refused{ErrorText(text(number.error()))}});
        return parts_.links.close(link);
    }
    link.speaks_for(*number);
    parts_.links.greeted(link);
    parts_.links.send(link.id, HostWelcome{HostWelcome::Accepted{parts_.issued.at(pass.now)}});
}

void HostPort::report(const Pass& pass, const Link& link, const HostReport& report) {
    parts_.hosts.report(pass, link.host_number(), report);
    KnownHost* host = parts_.hosts.find(link.host_number());
    if (!host) return;
    parts_.links.send(link.id, HostReportAck{parts_.issued.at(pass.now)});
    for (auto& [name, process] : host->processes) {
        if (!process.last.registers_itself || process.last.pid == 0) continue;
        const Server* server = server_of(*host, process);
        if (server) {
            parts_.hosts.tell_matches(*host, process, server->id, server->held + server->offered);
            continue;
        }
        // One whose link is lost may come back, or be found dead.
        if (process.own_server.value != 0 && !parts_.fleet.find(process.own_server))
            parts_.hosts.tell_matches(*host, process, {}, 0);
    }
}

void HostPort::report(const Pass& pass, const Link& link, const ProcessReport& report) {
    KnownHost* host = parts_.hosts.find(link.host_number());
    ServerId left_behind;
    // What is told while the list is told may be old news, of another life than the one that is registered now.
    if (host && !host->listing && report.news == ReportedNews::exited) {
        const auto known = host->processes.find(report.process.view());
        if (known != host->processes.end()) left_behind = known->second.own_server;
    }
    if (const auto taken = parts_.hosts.report(pass, link.host_number(), report); !taken) {
        return parts_.links.send(link.id, ServerError{ProcessReport::code, ErrorText(text(taken.error()))});
    }
    if (left_behind.value == 0) return;
    // Neither code nor signal: nobody knows how it ended.
    const bool crashed = report.exit_signal != 0 || report.exit_code > 0;
    parts_.fleet.remove(pass, left_behind, crashed ? Reason::server_crashed : Reason::server_left);
}

void HostPort::set_draining(const Pass& pass, const Link& link, const ProcessDraining& wish) {
    KnownHost* host = parts_.hosts.find(link.host_number());
    if (!host) return;
    const auto process = host->processes.find(wish.process.view());
    const Server* server = process == host->processes.end() ? nullptr : server_of(*host, process->second);
    if (!server) return parts_.links.send(link.id, ProcessMatches{wish.process, {}, 0});
    parts_.fleet.drain_by_server(server->id, wish.draining, parts_.issued.at(pass.now));
    process->second.own_told = false;  // it is answered in any case
    parts_.hosts.tell_matches(*host, process->second, server->id, server->held + server->offered);
}

void HostPort::match_offered(ServerId id, LobbyId lobby, const std::vector<AccountId>* accounts) {
    const KnownHost* host = accounts ? parts_.hosts.host_of(id) : nullptr;
    const Server* server = host ? parts_.fleet.find(id) : nullptr;
    const Link* link = server ? parts_.links.find(server->link) : nullptr;
    // Whose server it is may be claimed by anybody; where its link comes from may not.
    if (link && link->peer == host->peer) parts_.links.send(host->link, HostMatchPlayers{id, lobby, {*accounts}});
}

const Server* HostPort::server_of(const KnownHost& host, const HostProcess& process) {
    if (!process.last.registers_itself || process.last.game_port == 0) return nullptr;
    const auto ip = IpAddress::parse(host.address);
    if (!ip) return nullptr;
    const Server* server = parts_.fleet.find(Endpoint{*ip, static_cast<std::uint16_t>(process.last.game_port)});
    const Link* link = server ? parts_.links.find(server->link) : nullptr;
    return link && link->peer == host.peer ? server : nullptr;
}

}  // namespace muster

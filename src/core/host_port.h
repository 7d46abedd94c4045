// What the agents of hosts say, and what they are answered: the other half of the server port (G-12).
#pragma once

#include <vector>

#include "base/ids.h"
#include "base/issued_time.h"
#include "base/time.h"
#include "core/fleet.h"
#include "core/hosts.h"
#include "core/link_table.h"
#include "core/refused_registrations.h"
#include "core/server_port.h"
#include "core/wrong_secrets.h"
#include "protocol/host_messages.h"
#include "protocol/peer_frame.h"

namespace muster {

// Game thread only.
class HostPort {
public:
    // All of them outlive the port. Tokens are judged by the server port.
    struct Parts {
        LinkTable& links;
        Hosts& hosts;
        Fleet& fleet;
        ServerPort& servers;
        IssuedTime& issued;
        WrongSecrets& wrong_secrets;
        RefusedRegistrations& refused;
    };

    explicit HostPort(const Parts& parts) : parts_(parts) {}

    // A frame of a host's link, or a hello: the caller has judged that much.
    Result<void, WireError> frame(const Pass& pass, Link& link, const PeerFrame& frame);

    // The match is offered to the server, or has a new list of players: if that is a host's process, its agent hears
    // who may play (G-31).
    void match_offered(ServerId id, LobbyId lobby, const std::vector<AccountId>* accounts);

private:
    struct Visitor;

    void hello(const Pass& pass, Link& link, const HostHello& hello);
    void report(const Pass& pass, const Link& link, const HostReport& report);
    void report(const Pass& pass, const Link& link, const ProcessReport& report);
    void set_draining(const Pass& pass, const Link& link, const ProcessDraining& wish);
    // The game server of a process that registers itself: it stands at the process's port, and its link comes from
    // where the host's comes from, so no host can speak for the servers of another. Null when there is none.
    const Server* server_of(const KnownHost& host, const HostProcess& process);

    const Parts parts_;
};

}  // namespace muster

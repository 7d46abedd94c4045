// This node's links to the others: to the owner while it stands by, from the others while it owns the cell. And
// the sockets that outlive both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/system_clock.h"
#include "cluster/node.h"
#include "config/config.h"
#include "daemon/game.h"
#include "daemon/http_front.h"
#include "daemon/ticket_file.h"
#include "daemon/tls_ports.h"
#include "http/metrics_text.h"
#include "net/file_descriptor.h"
#include "net/listener.h"
#include "process/log_output.h"
#include "process/ports_file.h"
#include "relay/game_ports.h"
#include "relay/node_port.h"
#include "relay/relay_thread.h"

namespace muster {

// What outlives a life of the daemon: the sockets of peers and nodes, and the keys of the peers' tickets.
struct KeptSockets {
    KeptSockets(const Config& config, LogOutput& output)
        : log(clock, output, config.log.level),
          tickets(config.store.url.empty() ? config.store.path + ".tickets" : std::string()) {}

    // Opens what is not open yet; throws ListenError. The node port is there only where nodes share a store.
    void open(const Config& config, const TlsPorts& tls, std::size_t connections_max, bool is_member);

    // Where the game ports are; `http` is where HTTP is.
    BoundAddresses bound(const std::string& http) const;

    const SystemClock clock;
    Log log;
    TicketFile tickets;
    std::optional<GamePorts> ports;
    std::optional<Listener> node_listener;
    FileDescriptor http;               // where the API listens
    std::optional<RelayThread> relay;  // while the node stands by, also from one life to the next
};

// How this node relays, and who may relay to it.
std::vector<RoutedCell> routed_cells(const CellPlans& plans);
RelayOptions relay_options_of(const Config& config, const TlsPorts& tls, const Node& node);
NodePortOptions node_port_options_of(const Config& config, const TlsPorts& tls);

// Of a node with one cell. One thread, unless a line says otherwise. What it is given outlives it.
class NodeLinks {
public:
    NodeLinks(KeptSockets& kept, HttpFront& http) : kept_(kept), http_(http) {}
    ~NodeLinks();
    NodeLinks(const NodeLinks&) = delete;
    NodeLinks& operator=(const NodeLinks&) = delete;

    // Peers, and questions of the API, go to whoever owns the cell. One that is there goes on, and stays when this
    // goes.
    void begin_relay(const Config& config, const TlsPorts& tls, const Node& node);
    void end_relay();
    // Who that is. Only while it relays.
    void set_owner(std::optional<RelayTarget> owner) { kept_.relay->set_target(std::move(owner)); }
    bool is_linked() const { return kept_.relay && kept_.relay->is_linked(); }
    // Nothing that a peer asked waits for its answer.
    bool is_answered() const { return kept_.relay && kept_.relay->unanswered() == 0; }

    // Other nodes may relay to this one, which owns the cell. The game is not started yet.
    void open_port(const Config& config, const TlsPorts& tls, const Node& node, Game& game);
    // After the game's end.
    void close_port();
    // Other nodes that have told of all their peers since. Any thread.
    std::size_t nodes_here() const { return door_ ? door_->told() : 0; }

    // Any thread.
    std::vector<Metric> metrics();

private:
    KeptSockets& kept_;
    HttpFront& http_;
    std::mutex mutex_;              // guards the coming and going of the relay and the next two
    std::optional<NodePort> port_;  // while it owns the cell
    CellDoor* door_ = nullptr;      // of the same
};

}  // namespace muster

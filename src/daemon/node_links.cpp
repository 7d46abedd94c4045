#include "daemon/node_links.h"

#include <string>
#include <string_view>
#include <utility>

#include "daemon/game_config.h"

namespace muster {

void KeptSockets::open(const Config& config, const TlsPorts& tls, std::size_t connections_max, bool is_member) {
    if (!ports) ports.emplace(clock, network_config_of(config, tls, connections_max, log), is_member);
    if (is_member && !node_listener)
        node_listener.emplace("nodes", SocketAddress(config.cluster.listen.host, config.cluster.listen.port));
}

BoundAddresses KeptSockets::bound(const std::string& http) const {
    BoundAddresses bound{.servers = {}, .matchmakers = {}, .players = {}, .http = http};
    for (const Port port : muster::ports) {
        const auto address = ports->network().bound(port);
        if (!address) continue;
        std::string& place = port == Port::servers       ? bound.servers
                             : port == Port::matchmakers ? bound.matchmakers
                                                         : bound.players;
        place = address->to_string();
    }
    return bound;
}

NodeLinks::~NodeLinks() {
    http_.set_relay(nullptr);
    close_port();
}

std::vector<RoutedCell> routed_cells(const CellPlans& plans) {
    std::vector<RoutedCell> cells;
    for (const CellPlan& plan : plans) cells.push_back({plan.name, plan.regions, plan.players});
    return cells;
}

RelayOptions relay_options_of(const Config& config, const TlsPorts& tls, const Node& node) {
    RelayOptions options;
    options.cells = routed_cells(node.plans());
    options.link.node = node.name();
    if (config.auth.node_token.is_set()) options.link.token = std::string(config.auth.node_token.first().reveal());
    options.link.tls = tls.to_nodes;
    return options;
}

NodePortOptions node_port_options_of(const Config& config, const TlsPorts& tls) {
    NodePortOptions options;
    if (config.auth.node_token.is_set())
        options.is_token = [token = config.auth.node_token](std::string_view shown) { return token.matches(shown); };
    options.tls = tls.nodes;
    return options;
}

void NodeLinks::begin_relay(const Config& config, const TlsPorts& tls, const Node& node) {
    const std::lock_guard lock(mutex_);
    if (!kept_.relay) kept_.relay.emplace(kept_.clock, kept_.log, *kept_.ports, relay_options_of(config, tls, node));
    http_.set_relay(&*kept_.relay);
}

void NodeLinks::end_relay() {
    http_.set_relay(nullptr);
    const std::lock_guard lock(mutex_);
    kept_.relay.reset();
}

void NodeLinks::open_port(const Config& config, const TlsPorts& tls, const Node& node, Game& game) {
    const std::lock_guard lock(mutex_);
    port_.emplace(kept_.clock, kept_.log, *kept_.node_listener, node_port_options_of(config, tls));
    door_ = &port_->open(
        {node.cell(), node.term(), kept_.ports->relayed_generation},
        {kept_.ports->network(), game.waiter(), [this](const std::string& question, const CellDoor::Answer& answer) {
             http_.answer_relayed(question, answer);
         }});
    kept_.ports->network().set_node_worker(door_);
}

void NodeLinks::close_port() {
    if (!port_) return;
    kept_.ports->network().set_node_worker(nullptr);
    const std::lock_guard lock(mutex_);
    kept_.ports->relayed_generation = port_->close(*std::exchange(door_, nullptr));
    port_.reset();
}

std::vector<Metric> NodeLinks::metrics() {
    Metric relayed{
        "muster_relayed_links",
        "Peers whose socket is at one node and whose cell at another: out, of this node's peers; in, of others",
        MetricType::gauge,
        {},
        {}};
    const std::lock_guard lock(mutex_);
    relayed.samples.push_back(
        {{{"direction", "out"}}, kept_.relay ? static_cast<double>(kept_.relay->relayed()) : 0.0});
    relayed.samples.push_back({{{"direction", "in"}}, door_ ? static_cast<double>(door_->relayed()) : 0.0});
    return {std::move(relayed)};
}

}  // namespace muster

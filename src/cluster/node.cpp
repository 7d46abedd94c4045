#include "cluster/node.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "process/process_identity.h"
#include "process/version.h"

namespace muster {
namespace {

std::string host_name() {
    std::array<char, HOST_NAME_MAX + 1> name{};
    if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
    return name.data();
}

// Where this machine itself reaches a port of its own.
SocketAddress within_machine(SocketAddress port) {
    if (port.ip.is_unspecified()) port.ip = *IpAddress::parse(port.ip.is_v4() ? "127.0.0.1" : "::1");
    return port;
}

std::vector<std::int64_t> region_ids(const Config& config) {
    std::vector<std::int64_t> ids;
    for (const Region& region : config.fleet.regions) ids.push_back(region.id.value);
    return ids;
}

}  // namespace

HistoryLimits history_limits_of(const Config& config) {
    return {config.store.history_keep, config.store.history_max.bytes, config.fleet.lobby_memory};
}

Node::Node(const Config& config, const Clock& clock, Log& log, ClusterFigures& cluster_figures)
    : clock_(clock),
      log_(log),
      cluster_figures_(cluster_figures),
      cluster_(config.cluster),
      name_(config.cluster.node.empty() ? host_name() : config.cluster.node),
      plans_(planned_cells(config)),
      regions_(region_ids(config)),
      started_(clock.wall()),
      instance_(process_identity()),
      is_member_(!config.store.url.empty()) {
    if (is_member_) {
        open_shared(config);
        return;
    }
    store_name_ = config.store.path;
    SqliteStoreOptions options;
    options.file.path = config.store.path;
    options.history = history_limits_of(config);
    own_ = std::make_unique<SqliteStore>(clock, options);
    store_ = own_.get();
}

void Node::open_shared(const Config& config) {
    store_name_ = config.store.url;
    connection_.url = config.store.url;
    if (config.store.password.is_set()) connection_.password = std::string(config.store.password.first().reveal());
    connection_.application = "muster " + name_;
    shared_options_.connection = connection_;
    shared_options_.cells = plans_;
    shared_options_.node = name_;
    shared_options_.instance = instance_;
    shared_options_.has_ended = has_ended;
    shared_options_.silence = cluster_.silence;
    shared_options_.history = history_limits_of(config);
    // Several are opened by whoever serves each; one tells here what the engine lacks.
    auto first = open_cell(cell());
    for (const std::string& warning : first->store().warnings()) log_.warning("{}", warning);
    if (plans_.size() > 1) return;
    shared_ = std::move(first);
    store_ = &shared_->store();
}

std::unique_ptr<NodeCell> Node::open_cell(const std::string& cell_name) const {
    PgStoreOptions options = shared_options_;
    options.cell = cell_name;
    return std::make_unique<NodeCell>(clock_, log_, cluster_figures_, options);
}

std::unique_ptr<PgNews> Node::open_news(const CellPlan& plan, PgNews::OnNews on_news) const {
    PgNewsOptions options;
    options.connection = connection_;
    // A database that hangs does not hold up the end of the cell.
    options.connection.connect_limit = options.connection.statement_limit = std::chrono::seconds(1);
    options.cell = plan.name;
    options.leads = plan.name == plans_.front().name;
    options.has_players = plan.players;
    return std::make_unique<PgNews>(clock_, std::move(options), std::move(on_news));
}

void Node::join(const std::string& address, const SocketAddress& node_port, std::function<void()> on_name_lost,
                RuleBooks& books) {
    address_ = cluster_.advertise.empty() ? address : cluster_.advertise;
    PgMemberOptions options;
    options.connection = connection_;
    options.node.name = name_;
    options.node.instance = instance_;
    options.node.address = address_;
    options.node.version = version();
    const std::string advertised = cluster_.advertise.substr(0, cluster_.advertise.rfind(':'));
    node_address_ = advertised.empty() ? node_port.to_string() : fmt::format("{}:{}", advertised, node_port.port);
    options.node.node_address = node_address_;
    near_address_ = within_machine(node_port).to_string();
    options.node.prefers = fmt::format("{}", fmt::join(cluster_.prefer, ","));
    options.silence = cluster_.silence;
    options.has_ended = has_ended;
    options.on_name_lost = std::move(on_name_lost);
    options.follows_rules = [&books] { return books.follows(); };
    options.on_rules = [&books](const SharedRules& rules) { books.follow(rules); };
    member_ = std::make_unique<PgMember>(clock_, std::move(options));
}

std::size_t Node::others_alive() const {
    if (!member_) return 0;
    std::size_t count = 0;
    for (const ClusterView::Node& node : view().nodes) count += node.alive && node.name != name_ ? 1 : 0;
    return count;
}

MoveVerdict Node::ask_to_move(const std::string& cell_name, const std::string& node) {
    if (!shared_ || cell_name != cell()) return MoveVerdict::unknown_cell;
    const MoveVerdict verdict = judge_move(node);
    if (verdict == MoveVerdict::begun) shared_->ask_to_move(node);
    return verdict;
}

MoveVerdict Node::judge_move(const std::string& node) const {
    if (node == name_) return MoveVerdict::has_it_already;
    for (const ClusterView::Node& known : view().nodes)
        if (known.name == node) return known.alive ? MoveVerdict::begun : MoveVerdict::lost_node;
    return MoveVerdict::unknown_node;
}

ClusterView Node::view() const {
    ClusterView view;
    view.node = name_;
    if (!member_) {
        view.nodes = {{name_, address_, std::string(version()), true}};
        view.cells = {{cell(), regions_, true, name_, 0, 0, started_.value}};
        return view;
    }
    const PgMemberView seen = member_->view();
    for (std::size_t i = 0; i < seen.nodes.size(); ++i) {
        const NodeRow& node = seen.nodes[i];
        if (node.has_left) continue;
        view.nodes.push_back({node.name, node.address, node.version, node.name == name_ || seen.alive[i]});
    }
    for (const CellState& state : seen.cells) {
        ClusterView::Cell cell{state.name, regions_, true, state.owner, state.term, state.batch, state.since_ms};
        const auto plan = std::ranges::find(plans_, state.name, &CellPlan::name);
        if (plan != plans_.end()) cell.players = plan->players;
        if (plan != plans_.end() && plan->regions) {
            cell.regions.clear();
            for (const RegionId region : *plan->regions) cell.regions.push_back(region.value);
        }
        view.cells.push_back(std::move(cell));
    }
    view.engine_ms = to_milliseconds(seen.latency);
    view.problem = seen.problem;
    return view;
}

Metric owned_metric(const std::string& cell, bool is_owned) {
    Metric owned{"muster_cell_owned", "Whether this node owns the cell", MetricType::gauge, {}, {}};
    owned.samples.push_back({{{"cell", cell}}, is_owned ? 1.0 : 0.0});
    return owned;
}

std::vector<Metric> Node::metrics() const {
    Metric alive{
        "muster_node_alive", "Whether a node of the cluster is alive, as this one sees it", MetricType::gauge, {}, {}};
    for (const ClusterView::Node& node : view().nodes)
        alive.samples.push_back({{{"node", node.name}}, node.alive ? 1.0 : 0.0});
    std::vector<Metric> all{
        std::move(alive),
        counter("muster_cell_takeovers_total", "Cells that this node took over from another",
                static_cast<double>(cluster_figures_.takeovers.load(std::memory_order_relaxed))),
        counter("muster_fence_rejections_total", "Batches refused because another node owned the cell",
                static_cast<double>(cluster_figures_.fence_rejections.load(std::memory_order_relaxed)))};
    // Of several cells whoever serves them tells.
    if (store_) all.push_back(owned_metric(cell(), !shared_ || shared_->is_owned()));
    return all;
}

}  // namespace muster

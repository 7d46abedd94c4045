#include "daemon/node.h"

#include <array>
#include <climits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "process/process_identity.h"
#include "process/version.h"
#include "store/sqlite_store.h"

namespace muster {
namespace {

std::string host_name() {
    std::array<char, HOST_NAME_MAX + 1> name{};
    if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
    return name.data();
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
      cell_(planned_cells(config).front().name),
      regions_(region_ids(config)),
      started_(clock.wall()),
      instance_(process_identity()),
      life_(name_, cell_) {
    if (!config.store.url.empty()) {
        open_shared(config);
        return;
    }
    store_name_ = config.store.path;
    SqliteStoreOptions options;
    options.file.path = config.store.path;
    options.history = history_limits_of(config);
    store_ = std::make_unique<SqliteStore>(clock, options);
}

void Node::open_shared(const Config& config) {
    store_name_ = config.store.url;
    connection_.url = config.store.url;
    if (config.store.password.is_set()) connection_.password = std::string(config.store.password.first().reveal());
    connection_.application = "muster " + name_;
    PgStoreOptions options;
    options.connection = connection_;
    options.cell = cell_;
    options.cells = planned_cells(config);
    options.node = name_;
    options.instance = instance_;
    options.has_ended = has_ended;
    options.silence = cluster_.silence;
    options.history = history_limits_of(config);
    auto store = std::make_unique<PgStore>(clock_, options);
    for (const std::string& warning : store->warnings()) log_.warning("{}", warning);
    shared_ = store.get();
    store_ = std::move(store);
}

void Node::join(const std::string& address, const SocketAddress& node_port, std::function<void()> on_name_lost) {
    address_ = cluster_.advertise.empty() ? address : cluster_.advertise;
    PgMemberOptions options;
    options.connection = connection_;
    options.node.name = name_;
    options.node.instance = instance_;
    options.node.address = address_;
    options.node.version = version();
    const std::string advertised = cluster_.advertise.substr(0, cluster_.advertise.rfind(':'));
    options.node.node_address =
        advertised.empty() ? node_port.to_string() : fmt::format("{}:{}", advertised, node_port.port);
    options.node.prefers = fmt::format("{}", fmt::join(cluster_.prefer, ","));
    options.silence = cluster_.silence;
    options.has_ended = has_ended;
    options.on_name_lost = std::move(on_name_lost);
    member_ = std::make_unique<PgMember>(clock_, std::move(options));
}

bool Node::try_to_own() {
    seen_ = shared_->try_to_own([this](const std::string& owner) {
        const std::string next = member_->next_owner(cell_, owner);
        return next.empty() || next == name_;
    });
    term_ = seen_.term;
    const auto news = life_.looked(seen_);
    if (news) log_.info("{}", *news);
    if (!life_.owns()) return false;
    if (life_.took_over()) cluster_figures_.takeovers.fetch_add(1, std::memory_order_relaxed);
    owns_.store(true, std::memory_order_release);
    owned_since_ = clock_.now();
    member_->refresh();
    return true;
}

std::optional<RelayTarget> Node::owner() {
    // While the database does not answer nobody takes over, either (N-9).
    if (!seen_.engine.empty()) return last_owner_;
    last_owner_.reset();
    if (!member_ || seen_.ours || seen_.owner.empty() || seen_.owner == name_) return std::nullopt;
    const PgMemberView view = member_->view();
    for (const NodeRow& node : view.nodes)
        if (node.name == seen_.owner && !node.node_address.empty())
            last_owner_ = RelayTarget{node.name, node.node_address, seen_.term};
    // Its row may be newer than our view.
    if (!last_owner_) member_->refresh();
    return last_owner_;
}

std::size_t Node::others_alive() const {
    if (!member_) return 0;
    std::size_t count = 0;
    for (const ClusterView::Node& node : view().nodes) count += node.alive && node.name != name_ ? 1 : 0;
    return count;
}

std::optional<RelayTarget> Node::owner_by_rows() const {
    member_->refresh();
    const PgMemberView view = member_->view();
    for (const CellState& state : view.cells)
        for (const NodeRow& node : view.nodes)
            if (state.name == cell_ && state.owner == node.name && node.name != name_ && !node.node_address.empty())
                return RelayTarget{node.name, node.node_address, state.term};
    return std::nullopt;
}

bool Node::choose_successor(const std::string& wanted) {
    if (!member_ || !shared_) return false;
    const std::string successor = wanted.empty() ? member_->successor(cell_) : wanted;
    shared_->set_successor(successor);
    if (successor.empty())
        log_.info("Hands cell {} over to whoever comes next: no other node is alive", cell_);
    else
        log_.info("Hands cell {} over to {}", cell_, successor);
    return !successor.empty();
}

MoveVerdict Node::ask_to_move(const std::string& cell_name, const std::string& node) {
    if (cell_name != cell_) return MoveVerdict::unknown_cell;
    if (node == name_) return MoveVerdict::has_it_already;
    for (const ClusterView::Node& known : view().nodes) {
        if (known.name != node) continue;
        if (!known.alive) return MoveVerdict::lost_node;
        const std::lock_guard lock(move_mutex_);
        move_to_ = node;
        return MoveVerdict::begun;
    }
    return MoveVerdict::unknown_node;
}

std::string Node::next_owner() {
    if (!member_) return {};
    {
        const std::lock_guard lock(move_mutex_);
        if (!move_to_.empty()) return std::exchange(move_to_, {});
    }
    if (!may_hand_back(clock_.now() - owned_since_)) return {};
    return member_->preferred(cell_);
}

ClusterView Node::view() const {
    ClusterView view;
    view.node = name_;
    if (!member_) {
        view.nodes = {{name_, address_, std::string(version()), true}};
        view.cells = {{cell_, regions_, true, name_, 0, 0, started_.value}};
        return view;
    }
    const PgMemberView seen = member_->view();
    for (std::size_t i = 0; i < seen.nodes.size(); ++i) {
        const NodeRow& node = seen.nodes[i];
        if (node.has_left) continue;
        view.nodes.push_back({node.name, node.address, node.version, node.name == name_ || seen.alive[i]});
    }
    for (const CellState& state : seen.cells)
        view.cells.push_back({state.name, regions_, true, state.owner, state.term, state.batch, state.since_ms});
    view.engine_ms = to_milliseconds(seen.latency);
    view.problem = seen.problem;
    return view;
}

std::vector<Metric> Node::metrics() const {
    Metric owned{"muster_cell_owned", "Whether this node owns the cell", MetricType::gauge, {}, {}};
    owned.samples.push_back({{{"cell", cell_}}, !is_member() || owns_.load(std::memory_order_acquire) ? 1.0 : 0.0});
    Metric alive{
        "muster_node_alive", "Whether a node of the cluster is alive, as this one sees it", MetricType::gauge, {}, {}};
    for (const ClusterView::Node& node : view().nodes)
        alive.samples.push_back({{{"node", node.name}}, node.alive ? 1.0 : 0.0});
    return {std::move(owned), std::move(alive),
            counter("muster_cell_takeovers_total", "Cells that this node took over from another",
                    static_cast<double>(cluster_figures_.takeovers.load(std::memory_order_relaxed))),
            counter("muster_fence_rejections_total", "Batches refused because another node owned the cell",
                    static_cast<double>(cluster_figures_.fence_rejections.load(std::memory_order_relaxed)))};
}

}  // namespace muster

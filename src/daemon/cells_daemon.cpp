#include "daemon/cells_daemon.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "cluster/node.h"
#include "cluster/rule_books.h"
#include "config/config_reload.h"
#include "config/config_serving.h"
#include "daemon/accepted_reload.h"
#include "daemon/cell_runner.h"
#include "daemon/descriptor_plan.h"
#include "daemon/game_config.h"
#include "daemon/game_metrics.h"
#include "daemon/http_front.h"
#include "daemon/process_metrics.h"
#include "daemon/refused_connections.h"
#include "daemon/tls_watch.h"
#include "http/health.h"
#include "http/metrics_text.h"
#include "process/open_files.h"
#include "process/ports_file.h"
#include "process/service_manager.h"
#include "relay/node_port.h"

namespace muster {
namespace {

using namespace std::chrono_literals;

constexpr Duration looks_every = 100ms;
// At the end: for how long peers' questions go to the next owners before their links end.
constexpr Duration last_questions_max = 3s;
constexpr Duration last_questions_looked_at_every = 50ms;

class CellsDaemon {
public:
    CellsDaemon(const Config& config, const ServeOptions& options, LogOutput& output, ClusterFigures& figures,
                KeptSockets& kept)
        : config_(config),
          options_(options),
          kept_(kept),
          clock_(kept.clock),
          output_(output),
          figures_(figures),
          log_(kept.log) {
        tls_.read(config_);
        if (options.ports_file) ports_file_.emplace(*options.ports_file);
        if (descriptors_.warning) log_.warning("{}", *descriptors_.warning);
        for (const std::string& warning : options.warnings) log_.warning("{}", warning);
        for (const std::string& warning : warnings_of_serving(config)) log_.warning("{}", warning);
        metrics_.add([this] { return process_metrics(output_, log_, tls_.expiry()); });
    }
    // Questions of other nodes end before who answers them is gone.
    ~CellsDaemon() {
        for (const auto& runner : runners_) runner->begin_stop();
        for (const auto& runner : runners_) static_cast<void>(runner->stop());
        end_links();
    }
    CellsDaemon(const CellsDaemon&) = delete;
    CellsDaemon& operator=(const CellsDaemon&) = delete;

    void run(Signals& signals) {
        node_.emplace(config_, clock_, log_, figures_);
        kept_.open(config_, tls_.ports(), descriptors_.game_connections, true);
        http_.listen(config_, tls_.ports().http, *node_, kept_.http);
        node_->join(
            http_.address(), kept_.node_listener->bound(),
            [this] { die(StoreError(exit_config, "another node has the name of this one")); }, books_);
        kept_.relay.emplace(clock_, log_, *kept_.ports, relay_options_of(config_, tls_.ports(), *node_));
        port_.emplace(clock_, log_, *kept_.node_listener, node_port_options_of(config_, tls_.ports()));
        http_.set_relay(&*kept_.relay);
        for (CellNumber cell = 0; cell < node_->plans().size(); ++cell)
            runners_.push_back(std::make_unique<CellRunner>(parts_of_cells(), cell));
        add_figures();
        http_.serve_cells({names(), [this](const std::string& region) { return cell_of_region(region); }});
        for (const auto& runner : runners_) runner->start();
        if (ports_file_) ports_file_->write(kept_.bound(http_.address()));
        manager_.ready("Serving");
        serve(signals);
        stop();
    }

private:
    CellRunner::Parts parts_of_cells() {
        return {config_,      clock_, log_,  *node_, figures_,
                *kept_.relay, *port_, http_, books_, [this](const StoreError& error) { die(error); }};
    }

    std::vector<std::string> names() const {
        std::vector<std::string> all;
        all.reserve(runners_.size());
        for (const auto& runner : runners_) all.push_back(runner->cell());
        return all;
    }

    // By number or by name; one that is in no cell is refused by the first.
    CellNumber cell_of_region(const std::string& region) const {
        for (const Region& known : config_.fleet.regions)
            if (known.name == region || std::to_string(known.id.value) == region)
                return relay_routes_.of_region(known.id);
        return relay_routes_.first_of(Port::matchmakers);
    }

    void serve(Signals& signals) {
        for (;;) {
            tell_health();
            const auto signal = signals.wait(looks_every);
            if (signal == Signal::stop) return;
            if (signal == Signal::reload) reload();
            const bool hangs =
                std::ranges::any_of(runners_, [](const auto& runner) { return runner->hang().has_value(); });
            if (!hangs) {
                health_.loop_turned(clock_.now());
                manager_.ping();
            }
            log_.tell_held_back();
            tls_.look();
            refused_.look_at(kept_.ports->network(), config_, clock_.now(), log_, health_);
        }
    }

    void reload() {
        manager_.reloading(clock_.now());
        if (auto reload = accepted_reload(config_, options_.source, tls_, log_)) apply(*reload);
        manager_.reloaded("Serving");
    }

    void apply(ConfigReload& reload) {
        config_ = reload.config;
        http_.configure(config_, tls_.ports().http);
        configure_network(kept_.ports->network(), config_, tls_.ports());
        // It holds once it does in all cells.
        const auto left = std::make_shared<std::atomic<std::size_t>>(runners_.size());
        const auto told = std::make_shared<ConfigReload>(std::move(reload));
        for (const auto& runner : runners_)
            runner->configure(config_, [this, left, told] {
                if (left->fetch_sub(1) > 1) return;
                tell_reloaded(log_, *told);
                log_.set_least(told->config.log.level);
            });
    }

    // Ready is a node that is linked to the owner of any cell, itself or another. Whether that owner can serve it says
    // itself (cell_readiness.h).
    void tell_health() {
        std::string unlinked;
        for (CellNumber cell = 0; cell < runners_.size(); ++cell) {
            if (kept_.relay->is_linked(cell)) return health_.set_phase(Health::Phase::ready);
            unlinked += (unlinked.empty() ? "" : ", ") + runners_[cell]->cell();
        }
        health_.set_standing_by(fmt::format("no link to the owner of any cell: {}", unlinked));
    }

    // X-3, N-6: all cells are handed over at once.
    void stop() {
        health_.set_phase(Health::Phase::draining);
        manager_.stopping();
        log_.info("Stopping");
        for (const auto& runner : runners_) runner->begin_stop();
        bool has_successor = false;
        for (const auto& runner : runners_) has_successor |= runner->stop();
        const Time until = clock_.now() + last_questions_max;
        while (has_successor && clock_.now() < until && lead_to_successors() > 0)
            std::this_thread::sleep_for(last_questions_looked_at_every);
        end_links();
        kept_.ports->network().stop();
    }

    void end_links() {
        http_.set_relay(nullptr);
        kept_.relay.reset();
        port_.reset();
    }

    // What peers have asked that nobody answered.
    std::size_t lead_to_successors() {
        for (CellNumber cell = 0; cell < runners_.size(); ++cell)
            kept_.relay->set_target(owner_by_rows(node_->member(), runners_[cell]->cell(), node_->name()), cell);
        return kept_.relay->unanswered();
    }

    void add_figures() {
        metrics_.add([this] { return node_->metrics(); });
        metrics_.add([this] { return net_metrics(kept_.ports->network()); });
        for (const auto& runner : runners_) metrics_.add([&runner = *runner] { return runner.metrics(); });
    }

    // Beyond repair: not one more answer, and the next start recovers (fault 3).
    [[noreturn]] void die(const StoreError& error) {
        log_.error("The store failed, ending: {}", error.what());
        output_.close();
        std::_Exit(error.exit_code);
    }

    Config config_;
    const ServeOptions& options_;
    KeptSockets& kept_;
    const SystemClock& clock_;
    LogOutput& output_;
    ClusterFigures& figures_;
    Log& log_;
    const DescriptorPlan descriptors_ = plan_descriptors(config_, raise_open_files_limit());
    std::optional<PortsFile> ports_file_;
    ServiceManager manager_;
    Health health_{clock_};
    TlsWatch tls_{clock_, log_, kept_.tickets, health_};
    RefusedConnections refused_;
    Metrics metrics_;
    RuleBooks books_;
    const CellRoutes relay_routes_{routed_cells(planned_cells(config_))};
    std::optional<Node> node_;
    std::optional<NodePort> port_;
    std::vector<std::unique_ptr<CellRunner>> runners_;
    // Last, so that it stops before what its answers are made from.
    HttpFront http_{config_,      descriptors_.http_connections, clock_, log_, health_, metrics_, books_.operators,
                    books_.blocks};
};

}  // namespace

void run_cells(const Config& config, const ServeOptions& options, LogOutput& output, Signals& signals,
               ClusterFigures& figures, KeptSockets& kept) {
    CellsDaemon(config, options, output, figures, kept).run(signals);
}

}  // namespace muster

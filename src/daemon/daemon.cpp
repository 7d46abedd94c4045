#include "daemon/daemon.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <limits>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/log.h"
#include "base/system_clock.h"
#include "cluster/cell_past.h"
#include "cluster/node.h"
#include "cluster/rule_books.h"
#include "config/config_reload.h"
#include "config/config_serving.h"
#include "core/recovery_check.h"
#include "daemon/accepted_reload.h"
#include "daemon/cells_daemon.h"
#include "daemon/descriptor_plan.h"
#include "daemon/game.h"
#include "daemon/game_metrics.h"
#include "daemon/http_front.h"
#include "daemon/node_links.h"
#include "daemon/process_metrics.h"
#include "daemon/refused_connections.h"
#include "daemon/tls_watch.h"
#include "http/event_ring.h"
#include "http/health.h"
#include "http/http_server.h"
#include "http/metrics_text.h"
#include "http/over_matches.h"
#include "net/listener.h"
#include "process/core_dumps.h"
#include "process/exit_code.h"
#include "process/log_output.h"
#include "process/open_files.h"
#include "process/ports_file.h"
#include "process/service_manager.h"
#include "process/signals.h"
#include "process/version.h"
#include "store/store_fault.h"

namespace muster {
namespace {

using namespace std::chrono_literals;

// How often the main thread looks after what has no timer, such as lines that the log held back.
constexpr Duration housekeeping_interval = 1s;
// The same of a node that may lose its cell: its peers learn of it this much later at most.
constexpr Duration loss_noticed_after = 100ms;
// After a hand-over: for how long, and how often it looks, peers' questions go to the successor before their links end.
constexpr Duration successor_wait_max = 3s;
constexpr Duration successor_look_every = 50ms;
constexpr Duration database_tried_every = 1s;

// What a person at a terminal is told once all ports are open.
std::string greeting(const BoundAddresses& bound, bool http_has_tls) {
    const auto line = [](std::string_view what, std::string_view where) {
        return where.empty() ? std::string() : fmt::format("  {:<14} {}\n", what, where);
    };
    return fmt::format("\nMuster {} is ready; stop it with Ctrl-C.\n{}{}{}{}", version(),
                       line("game servers", bound.servers), line("matchmakers", bound.matchmakers),
                       line("players", bound.players),
                       line("page", fmt::format("{}://{}/", http_has_tls ? "https" : "http", bound.http)));
}

// Why a life ended.
enum class Ending : std::uint8_t { told_to, lost_cell };

// One life: from the start, or from the loss of its cell, to the next.
class Daemon {
public:
    Daemon(const Config& config, const ServeOptions& options, LogOutput& output, ClusterFigures& cluster_figures,
           KeptSockets& kept)
        : config_(config),
          options_(options),
          kept_(kept),
          clock_(kept.clock),
          output_(output),
          cluster_figures_(cluster_figures),
          log_(kept.log) {
        tls_.read(config_);
        if (descriptors_.warning) log_.warning("{}", *descriptors_.warning);
        if (options.ports_file) ports_file_.emplace(*options.ports_file);
        for (const std::string& warning : options.warnings) log_.warning("{}", warning);
        for (const std::string& warning : warnings_of_serving(config)) log_.warning("{}", warning);
        metrics_.add([this] { return process_metrics(output_, log_, tls_.expiry()); });
    }
    // Questions of the API on the game thread end before who asked them is gone.
    ~Daemon() {
        while (game_ && !game_->stop(Duration{0}, way_to_end())) {
            // Its thread uses the rest.
        }
        links_.close_port();
    }
    Daemon(const Daemon&) = delete;
    Daemon& operator=(const Daemon&) = delete;

    Ending run(Signals& signals) {
        node_.emplace(config_, clock_, log_, cluster_figures_);
        metrics_.add([this] { return node_->metrics(); });
        metrics_.add([this] { return links_.metrics(); });
        kept_.open(config_, tls_.ports(), descriptors_.game_connections, node_->is_member());
        if (node_->is_member()) {
            http_.listen(config_, tls_.ports().http, *node_, kept_.http);
            node_->join(
                http_.address(), kept_.node_listener->bound(),
                [this] { die({exit_config, "another node has the name of this one"}); }, books_);
            http_.serve();
            if (!stand_by(signals)) return Ending::told_to;
        }
        recover();
        game_.emplace(config_, *kept_.ports, clock_, log_, node_->store(), health_);
        remember_the_past();
        if (!http_.is_open()) http_.listen(config_, tls_.ports().http, *node_, kept_.http);
        http_.open_api({*game_, *node_, past_.events, past_.over});
        add_game_figures();
        if (node_->is_member()) {
            links_.open_port(config_, tls_.ports(), *node_, *game_);
            game_->hold_requests([this] { return links_.nodes_here() >= node_->others_alive(); });
        }
        game_->start(
            std::move(recovered_), [this] { say_ready(); }, [this](const StoreError& error) { store_failed(error); });
        recovered_ = {};  // a million lobbies are not kept twice
        serve(signals);
        if (has_lost_cell_) return Ending::lost_cell;
        if (!moves_to_.empty()) return hand_over();
        stop();
        return Ending::told_to;
    }

    // With what was reloaded since.
    const Config& config() const { return config_; }

private:
    // N-3: until the cell is ours. False when it was told to stop before. Peers are relayed to the owner meanwhile.
    bool stand_by(Signals& signals) {
        links_.begin_relay(config_, tls_.ports(), *node_);
        bool is_first = true;
        while (!node_->try_to_own()) {
            links_.set_owner(node_->owner());
            health_.set_standing_by(node_->standing(), links_.is_linked());
            if (std::exchange(is_first, false)) {
                if (ports_file_) ports_file_->write(kept_.bound(http_.address()));
                manager_.ready("Standing by");
            }
            manager_.ping();
            const auto signal = signals.wait(Node::look_every);
            if (signal == Signal::stop) {
                manager_.stopping();
                log_.info("Stopping");
                return false;
            }
            if (signal == Signal::reload) log_.warning("A node that stands by does not reload; restart it");
            log_.tell_held_back();
        }
        links_.end_relay();
        return true;
    }

    // N-6: the next owner recovers meanwhile. What peers asked and this node did not answer is asked there.
    void begin_relay_to_successor(Time until) {
        links_.begin_relay(config_, tls_.ports(), *node_);
        while (clock_.now() < until && !links_.is_linked()) {
            links_.set_owner(node_->owner_by_rows());
            std::this_thread::sleep_for(successor_look_every);
        }
    }

    // And then this one ends.
    void relay_last_questions(Time until) {
        begin_relay_to_successor(until);
        while (clock_.now() < until && !links_.is_answered()) std::this_thread::sleep_for(successor_look_every);
        links_.end_relay();
    }

    void recover() {
        health_.set_phase(Health::Phase::recovering);
        const Time begun = clock_.now();
        recovered_ = node_->store().recover();
        if (const auto damage = damage_of(recovered_))
            throw StoreError(exit_damaged, fmt::format("{} is damaged: {}", node_->store_name(), *damage));
        recovery_ = clock_.now() - begun;
        log_.with(LogLevel::info,
                  {{"servers", recovered_.servers.size()},
                   {"matches", recovered_.matches.size()},
                   {"seconds", to_seconds(recovery_)}},
                  "Opened the store {}", node_->store_name());
    }

    // On the store's thread.
    void store_failed(const StoreError& error) {
        if (error.exit_code != exit_taken_over) die(error);
        // N-2: no promise is kept any more, since no outcome comes; the main thread ends the rest.
        cluster_figures_.fence_rejections.fetch_add(1, std::memory_order_relaxed);
        health_.set_standing_by("standing by; another node took over");
        log_.error("Gives the cell up: {}", error.what());
        has_lost_cell_ = true;
    }

    // Beyond repair: not one more answer, and the next start recovers (fault 3).
    [[noreturn]] void die(const StoreError& error) {
        log_.error("The store failed, ending: {}", error.what());
        output_.close();
        std::_Exit(error.exit_code);
    }

    // all of it within the deadline, whatever the disk does.
    void stop() {
        const Time deadline = clock_.now() + config_.shutdown.deadline;
        health_.set_phase(Health::Phase::draining);
        manager_.stopping();
        log_.info("Stopping");
        const bool has_successor = node_->choose_successor();
        end_game_or_exit(has_successor ? GameEnd::hands_over : GameEnd::closes);
        end_store_or_exit(deadline);
        if (has_successor) relay_last_questions(std::min(deadline, clock_.now() + successor_wait_max));
        kept_.ports->network().stop();
    }

    void end_game_or_exit(GameEnd how) {
        if (!game_->stop(config_.shutdown.deadline / 2, how)) {
            log_.error("The game loop did not end in time; the next start recovers");
            output_.close();
            std::_Exit(to_int(ExitCode::internal));  // destroying the game would wait for it
        }
        links_.close_port();
    }

    void end_store_or_exit(Time deadline) {
        const Duration left = std::max<Duration>(deadline - clock_.now() - 1s, Duration{0});
        if (node_->store().stop(left)) return;
        log_.error("The store did not write everything in time; the next start recovers");
        output_.close();
        std::_Exit(to_int(ExitCode::ok));  // destroying the store would wait for the disk
    }

    // To a node that an operator named, or that prefers the cell: this one stands by again, with its peers (N-12).
    Ending hand_over() {
        const Time deadline = clock_.now() + config_.shutdown.deadline;
        static_cast<void>(node_->choose_successor(moves_to_));
        end_game_or_exit(GameEnd::hands_over);
        end_store_or_exit(deadline);
        begin_relay_to_successor(clock_.now() + successor_wait_max);
        return Ending::lost_cell;
    }

    // A member's peers stay for the next owner.
    GameEnd way_to_end() const { return node_->is_member() ? GameEnd::abandons : GameEnd::closes; }

    void remember_the_past() {
        books_.own(recovered_);
        past_.begin(node_->store(), recovered_, books_, clock_);
        if (!recovered_.operators.empty() && !config_.auth.admin_token.is_set())
            log_.warning(
                "{} operators have tokens, but auth.admin_token is not set: everybody on this machine may do "
                "everything",
                recovered_.operators.size());
    }

    // On the game thread, once peers may come.
    void say_ready() {
        const BoundAddresses bound = kept_.bound(http_.address());
        for (const Port port : ports)
            if (const auto address = kept_.ports->network().bound(port))
                log_.with(LogLevel::info, {{"port", to_string(port)}}, "Listening on {}", address->to_string());
        health_.set_phase(Health::Phase::ready);
        if (ports_file_) ports_file_->write(bound);
        manager_.ready("Serving");
        if (::isatty(STDERR_FILENO) == 1) output_.print(greeting(bound, tls_.ports().http != nullptr));
    }

    // Until it is told to stop, or has lost its cell.
    void serve(Signals& signals) {
        const auto watchdog = manager_.watchdog_interval();
        Duration wait = node_->is_member() ? loss_noticed_after : housekeeping_interval;
        if (watchdog) wait = std::min<Duration>(wait, *watchdog / 3);
        for (;;) {
            const auto signal = signals.wait(wait);
            if (signal == Signal::stop || has_lost_cell_) return;
            moves_to_ = node_->next_owner();
            if (!moves_to_.empty()) return;
            if (signal == Signal::reload) reload();
            if (watchdog && !health_.hang()) manager_.ping();
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
        if (reload.config.limits.connections_per_port != config_.limits.connections_per_port) {
            const auto warning = plan_descriptors(reload.config, open_files_max_).warning;
            if (warning) log_.warning("{}", *warning);
        }
        config_ = reload.config;
        http_.configure(config_, tls_.ports().http);
        node_->store().keep_history(history_limits_of(config_));
        game_->configure(config_, tls_.ports(), [this, told = std::make_shared<ConfigReload>(std::move(reload))] {
            tell_reloaded(log_, *told);
            log_.set_least(told->config.log.level);
        });
    }

    void add_game_figures() {
        metrics_.add([this] {
            const auto figures = game_->figures();
            return figures ? loop_metrics(figures->loop) : std::vector<Metric>();
        });
        metrics_.add([this] {
            const auto figures = game_->figures();
            return figures ? core_metrics(figures->core) : std::vector<Metric>();
        });
        metrics_.add([this] { return net_metrics(kept_.ports->network()); });
        metrics_.add([this] { return store_metrics(node_->store().figures(), recovery_); });
    }

    Config config_;
    const std::size_t open_files_max_ = raise_open_files_limit();
    DescriptorPlan descriptors_ = plan_descriptors(config_, open_files_max_);
    const ServeOptions& options_;
    KeptSockets& kept_;
    const SystemClock& clock_;
    LogOutput& output_;
    ClusterFigures& cluster_figures_;
    Log& log_;
    RefusedConnections refused_;
    std::optional<PortsFile> ports_file_;
    ServiceManager manager_;
    Health health_{clock_};
    TlsWatch tls_{clock_, log_, kept_.tickets, health_};
    Metrics metrics_;
    RuleBooks books_;
    CellPast past_;
    std::optional<Node> node_;
    RecoveredState recovered_;
    Duration recovery_{0};
    std::atomic<bool> has_lost_cell_{false};  // any thread
    std::string moves_to_;                    // who is to own the cell next; empty: nobody else
    std::optional<Game> game_;
    // Last, so that it stops before what its answers are made from.
    HttpFront http_{config_,      descriptors_.http_connections, clock_, log_, health_, metrics_, books_.operators,
                    books_.blocks};
    NodeLinks links_{kept_, http_};
};

// N-9: a node that has served does not end because the database is away when it begins to stand by, or while it
// recovers: its peers are here. False when it was told to stop meanwhile.
bool wait_for_database(const StoreError& failure, Signals& signals, KeptSockets& kept) {
    kept.log.warning("Restarting in place: {}", failure.what());
    kept.log.tell_held_back();
    ServiceManager().ping();
    return signals.wait(database_tried_every) != Signal::stop;
}

Ending lived(Config& config, const ServeOptions& options, LogOutput& output, Signals& signals,
             ClusterFigures& cluster_figures, KeptSockets& kept) {
    try {
        Daemon daemon(config, options, output, cluster_figures, kept);
        const Ending ending = daemon.run(signals);
        config = daemon.config();
        return ending;
    } catch (const StoreError& failure) {
        if (failure.exit_code == exit_io && kept.node_listener)
            return wait_for_database(failure, signals, kept) ? Ending::lost_cell : Ending::told_to;
        if (failure.exit_code != exit_taken_over) throw;
        output.print(fmt::format("muster: {}", failure.what()));
        return Ending::lost_cell;
    }
}

}  // namespace

int run_daemon(const Config& config, const ServeOptions& options) {
    Signals signals;
    disable_core_dumps();
    give_large_blocks_back();
    LogOutput output(STDERR_FILENO,
                     log_style_for(STDERR_FILENO, std::getenv("JOURNAL_STREAM"), std::getenv("NO_COLOR")));
    const auto failed = [&output](ExitCode code, const std::exception& failure, const char* hint = "") {
        output.print(fmt::format("muster: {}{}", failure.what(), hint));
        return to_int(code);
    };
    constexpr const char* port_hint =
        "\n  is another Muster running? `ss -ltnp` shows who has a port; `listen` in the config sets another one";
    ClusterFigures cluster_figures;
    Config present = config;
    KeptSockets kept(config, output);
    try {
        if (planned_cells(config).size() > 1) {
            run_cells(config, options, output, signals, cluster_figures, kept);
            return to_int(ExitCode::ok);
        }
        // A node that lost its cell stands by again.
        while (lived(present, options, output, signals, cluster_figures, kept) == Ending::lost_cell) {
        }
        return to_int(ExitCode::ok);
    } catch (const HttpListenError& failure) {
        return failed(ExitCode::unavailable, failure, port_hint);
    } catch (const ListenError& failure) {
        return failed(ExitCode::unavailable, failure, port_hint);
    } catch (const PortsFileError& failure) {
        return failed(ExitCode::io, failure);
    } catch (const TlsError& failure) {
        return failed(ExitCode::config, failure);
    } catch (const StoreError& failure) {
        return failed(static_cast<ExitCode>(failure.exit_code), failure);
    } catch (const std::exception& failure) {
        return failed(ExitCode::internal, failure);
    }
}

}  // namespace muster

#include "daemon/daemon.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <limits>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "base/entropy.h"
#include "base/log.h"
#include "base/system_clock.h"
#include "config/config_reload.h"
#include "config/config_serving.h"
#include "core/operator_name.h"
#include "core/recovery_check.h"
#include "daemon/descriptor_plan.h"
#include "daemon/game.h"
#include "daemon/game_config.h"
#include "daemon/game_metrics.h"
#include "daemon/game_operator.h"
#include "daemon/tls_ports.h"
#include "http/admin_gate.h"
#include "http/api.h"
#include "http/block_book.h"
#include "http/event_ring.h"
#include "http/forwarded_peer.h"
#include "http/health.h"
#include "http/http_server.h"
#include "http/metrics_text.h"
#include "http/operator_book.h"
#include "http/over_matches.h"
#include "http/page.h"
#include "http/routes.h"
#include "http/slow_reads.h"
#include "net/listener.h"
#include "process/core_dumps.h"
#include "process/exit_code.h"
#include "process/log_output.h"
#include "process/open_files.h"
#include "process/ports_file.h"
#include "process/service_manager.h"
#include "process/signals.h"
#include "process/version.h"
#include "store/sqlite_store.h"
#include "store/store_fault.h"

namespace muster {
namespace {

using namespace std::chrono_literals;

// How often the main thread looks after what has no timer, such as lines that the log held back.
constexpr Duration housekeeping_interval = 1s;

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

std::vector<Metric> http_metrics(const HttpFigures& figures) {
    const auto of_http = [](Metric metric) {
        for (MetricSample& sample : metric.samples) sample.labels.push_back({"port", "http"});
        return metric;
    };
    Metric refused{"muster_connections_refused_total", "Connections refused by a limit", MetricType::counter, {}, {}};
    refused.samples.push_back({{{"port", "http"}, {"reason", "per_ip"}}, static_cast<double>(figures.refused_per_ip)});
    refused.samples.push_back(
        {{{"port", "http"}, {"reason", "per_port"}}, static_cast<double>(figures.refused_per_port)});
    Metric tls_failed{
        "muster_tls_failures_total", "Connections refused for their TLS, by reason", MetricType::counter, {}, {}};
    for (const TlsFailure reason : tls_failures) {
        tls_failed.samples.push_back({{{"port", "http"}, {"reason", std::string(to_string(reason))}},
                                      static_cast<double>(figures.tls_failed[static_cast<std::size_t>(reason)])});
    }
    Metric tls_handshakes{"muster_tls_handshakes_total", "TLS handshakes finished", MetricType::counter, {}, {}};
    tls_handshakes.samples.push_back(
        {{{"port", "http"}, {"kind", "full"}}, static_cast<double>(figures.tls_handshakes)});
    return {
        std::move(tls_failed),
        std::move(tls_handshakes),
        gauge("muster_http_connections", "Open HTTP connections", static_cast<double>(figures.connections)),
        counter("muster_http_requests_total", "HTTP requests that were answered by their handler",
                static_cast<double>(figures.requests)),
        counter("muster_http_refused_requests_total", "HTTP requests that were malformed, too large or too slow",
                static_cast<double>(figures.refused_requests)),
        std::move(refused),
        counter("muster_http_connections_let_go_total",
                "HTTP connections that waited for their peer and made room for another at a limit",
                static_cast<double>(figures.let_go)),
        of_http(counter("muster_accept_errors_total", "Connections that could not be accepted",
                        static_cast<double>(figures.accept_errors))),
    };
}

// The store's history for the API.
class StoreArchive final : public EventArchive {
public:
    explicit StoreArchive(Store& store) : store_(store) {}
    EventsFound find(const EventSearch& search) override { return store_.find_events(search); }

private:
    Store& store_;
};

// The book outlives the rules.
AdminGate::Rules gate_rules_of(const Config& config, const OperatorBook& operators) {
    const auto holder_of = [admin = config.auth.admin_token, matchmaker = config.auth.http_matchmaker_token,
                            &operators](std::string_view token) -> std::optional<TokenHolder> {
        // A secret that is not set fits nobody here: without an admin token the gate does not ask.
        if (admin.is_set() && admin.matches(token)) return TokenHolder{std::string(admin_name), Role::admin};
        if (matchmaker.is_set() && matchmaker.matches(token))
            return TokenHolder{std::string(http_matchmaker_name), Role::matchmaker};
        return operators.holder_of(token);
    };
    return {config.auth.admin_token.is_set(), config.listen.http.host.is_loopback(), holder_of,
            config.http.open_metrics};
}

HistoryLimits history_limits_of(const Config& config) {
    return {config.store.history_keep, config.store.history_max.bytes, config.fleet.lobby_memory};
}

// `open_max` is what the process may have open of them.
HttpQuota::Limits http_quota_of(const Config& config, std::size_t open_max) {
    return {std::min(static_cast<std::size_t>(config.limits.http_connections), open_max),
            static_cast<std::size_t>(config.limits.http_connections_ip)};
}

class Daemon {
public:
    Daemon(const Config& config, const ServeOptions& options, LogOutput& output)
        : config_(config),
          options_(options),
          output_(output),
          log_(clock_, output, config.log.level),
          gate_(clock_, log_, gate_rules_of(config, operators_)) {
        read_tls();
        if (descriptors_.warning) log_.warning("{}", *descriptors_.warning);
        if (options.ports_file) ports_file_.emplace(*options.ports_file);
        for (const std::string& warning : options.warnings) log_.warning("{}", warning);
        for (const std::string& warning : warnings_of_serving(config)) log_.warning("{}", warning);
        add_figures();
        add_health_routes(routes_, health_);
        add_metrics_route(routes_, metrics_,
                          [this](HttpRequest& request) { return gate_.refusal_of_metrics(request); });
        forwarded_.set_trusted(ranges_of(config.http.trusted_proxies));
        add_openapi_route(routes_);
        add_page_routes(routes_, &embedded_page);
    }
    // Questions of the API on the game thread end before who asked them is gone.
    ~Daemon() {
        if (game_) static_cast<void>(game_->stop(Duration{0}));
    }
    Daemon(const Daemon&) = delete;
    Daemon& operator=(const Daemon&) = delete;

    void run(Signals& signals) {
        open_store();
        game_.emplace(config_, tls_, descriptors_.game_connections, clock_, log_, *store_, health_);
        remember_the_past();
        open_http();
        add_game_figures();
        game_->start(recovered_, [this] { say_ready(); }, [this](const StoreError& error) { die(error); });
        recovered_ = {};  // a million lobbies are not kept twice
        serve(signals);
        stop();
    }

private:
    void open_store() {
        health_.set_phase(Health::Phase::recovering);
        const Time begun = clock_.now();
        SqliteStoreOptions options;
        options.file.path = config_.store.path;
        options.history = history_limits_of(config_);
        store_.emplace(clock_, options);
        recovered_ = store_->recover();
        if (const auto damage = damage_of(recovered_))
            throw StoreError(exit_damaged, fmt::format("{} is damaged: {}", config_.store.path, *damage));
        recovery_ = clock_.now() - begun;
        log_.with(LogLevel::info,
                  {{"servers", recovered_.servers.size()},
                   {"matches", recovered_.matches.size()},
                   {"seconds", to_seconds(recovery_)}},
                  "Opened the store {}", config_.store.path);
    }

    void read_tls() {
        auto read = read_tls_ports(config_);
        if (!read) throw TlsError(read.error());
        tls_ = std::move(*read);
        if (!tls_.material) return;
        warn_of_certificate();
        publish_tls();
        const CertificateFacts& facts = tls_.material->certificate();
        log_.with(LogLevel::info,
                  {{"serial", facts.serial},
                   {"days_left", static_cast<std::int64_t>(tls_.seconds_left(clock_.wall())) / 86'400}},
                  "TLS certificate of {}", facts.name);
    }

    // At the start, and once a day.
    void warn_of_certificate() {
        certificate_looked_at_ = clock_.now();
        const std::string warning = warning_of_certificate(tls_, clock_.wall());
        if (!warning.empty()) log_.warning("{}", warning);
    }

    void publish_tls() {
        certificate_expires_.store(tls_.material->certificate().not_after, std::memory_order_relaxed);
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
        if (!game_->stop(config_.shutdown.deadline / 2)) {
            log_.error("The game loop did not end in time; the next start recovers");
            output_.close();
            std::_Exit(to_int(ExitCode::internal));  // destroying the game would wait for it
        }
        const Duration left = std::max<Duration>(deadline - clock_.now() - 1s, Duration{0});
        if (!store_->stop(left)) {
            log_.error("The store did not write everything in time; the next start recovers");
            output_.close();
            std::_Exit(to_int(ExitCode::ok));  // destroying the store would wait for the disk
        }
    }

    // What the API shows of it: from the last run now, from this one as it becomes durable.
    void remember_the_past() {
        auto newest = store_->events_before(std::numeric_limits<std::int64_t>::max(), EventRing::capacity_usual);
        std::reverse(newest.begin(), newest.end());
        events_.preload(newest, newest.size() < EventRing::capacity_usual);
        for (const TokenUsed& used : recovered_.tokens_used) over_.note(used);
        operators_.begin_with(recovered_.operators);
        blocks_.begin_with(recovered_.blocks);
        if (!recovered_.operators.empty() && !config_.auth.admin_token.is_set())
            log_.warning(
                "{} operators have tokens, but auth.admin_token is not set: everybody on this machine may do "
                "everything",
                recovered_.operators.size());
        store_->on_durable([this](const RecordBatch& batch) {
            const UnixMs now = clock_.wall();
            for (const Record& record : batch.records) {
                if (const auto* event = std::get_if<EventRecord>(&record))
                    events_.append(*event);
                else
                    over_.note(record, now);
                operators_.note(record);
                blocks_.note(record);
            }
        });
    }

    void open_http() {
        HttpLimits limits;
        limits.quota = http_quota_of(config_, descriptors_.http_connections);
        http_.emplace(
            HttpListen{config_.listen.http.host, config_.listen.http.port, config_.listen.http_hosts, tls_.http},
            limits, log_);
        archive_.emplace(*store_);
        operator_.emplace(GameOperator::Parts{*game_, *store_, health_, clock_, http_->thread()});
        // Live feeds stay open: they leave room for questions.
        api_.emplace(Api::Parts{*operator_,
                                gate_,
                                events_,
                                *archive_,
                                slow_reads_,
                                over_,
                                clock_,
                                http_->thread(),
                                operators_,
                                blocks_,
                                entropy_,
                                {(limits.quota.connections + 7) / 8, (limits.quota.connections_ip + 1) / 2}});
        operator_->answer_to(*api_);
        api_->add_routes(routes_);
        api_->start_sampling();
        api_->start_history();
        http_->serve([this](HttpRequest&& request, HttpResponder&& responder) {
            forwarded_.resolve(request);
            routes_.handle(std::move(request), std::move(responder));
        });
        log_.with(LogLevel::info, {{"port", "http"}}, "Listening on {}", http_->address());
        metrics_.add([this] { return http_metrics(http_->figures()); });
    }

    // On the game thread, once peers may come.
    void say_ready() {
        BoundAddresses bound{.servers = {}, .matchmakers = {}, .players = {}, .http = http_->address()};
        for (const Port port : ports) {
            const auto address = game_->network().bound(port);
            if (!address) continue;
            log_.with(LogLevel::info, {{"port", to_string(port)}}, "Listening on {}", address->to_string());
            std::string& place = port == Port::servers       ? bound.servers
                                 : port == Port::matchmakers ? bound.matchmakers
                                                             : bound.players;
            place = address->to_string();
        }
        health_.set_phase(Health::Phase::ready);
        if (ports_file_) ports_file_->write(bound);
        manager_.ready("Serving");
        if (::isatty(STDERR_FILENO) == 1) output_.print(greeting(bound, tls_.http != nullptr));
    }

    // Until it is told to stop.
    void serve(Signals& signals) {
        const auto watchdog = manager_.watchdog_interval();
        Duration wait = housekeeping_interval;
        if (watchdog) wait = std::min<Duration>(wait, *watchdog / 3);
        for (;;) {
            const auto signal = signals.wait(wait);
            if (signal == Signal::stop) return;
            if (signal == Signal::reload) reload();
            if (watchdog && !health_.hang()) manager_.ping();
            log_.tell_held_back();
            if (clock_.now() - certificate_looked_at_ >= 24h) warn_of_certificate();
        }
    }

    void reload() {
        manager_.reloading(clock_.now());
        auto reload = reload_config(config_, options_.source);
        if (!reload) {
            for (const std::string& problem : reload.error()) log_.error("Reload refused: {}", problem);
        } else if (const auto problem = take_new_tls(reload->config)) {
            log_.error("Reload refused: {}", *problem);
        } else {
            apply(*reload);
        }
        manager_.reloaded("Serving");
    }

    // The files may hold something new although the config is the same. Why not; nothing when it was done.
    std::optional<std::string> take_new_tls(const Config& config) {
        auto read = read_tls_ports(config);
        if (!read) return read.error();
        std::string problem = problem_of_new_certificate(*read, clock_.wall());
        if (!problem.empty()) return problem;
        if (!read->material) return std::nullopt;
        const std::string& before = tls_.material->certificate().serial;
        const std::string& after = read->material->certificate().serial;
        if (before != after) log_.info("TLS certificate {} -> {}; new connections get it", before, after);
        if (tls_.material->revoked_count() != read->material->revoked_count())
            log_.info("{} certificates are revoked", read->material->revoked_count());
        tls_ = std::move(*read);
        publish_tls();
        return std::nullopt;
    }

    void apply(ConfigReload& reload) {
        for (const std::string& warning : reload.warnings) log_.warning("{}", warning);
        for (const std::string& change : reload.now) log_.info("Changed {}", change);
        for (const std::string& change : reload.at_restart) log_.warning("Changes at the next restart: {}", change);
        if (reload.now.empty() && reload.at_restart.empty()) log_.info("Reloaded; nothing changed");
        if (reload.config.limits.connections_per_port != config_.limits.connections_per_port) {
            const auto warning = plan_descriptors(reload.config, open_files_max_).warning;
            if (warning) log_.warning("{}", *warning);
        }
        config_ = std::move(reload.config);
        log_.set_least(config_.log.level);
        http_->thread()->post(
            [this, rules = gate_rules_of(config_, operators_), proxies = ranges_of(config_.http.trusted_proxies)] {
                gate_.set_rules(rules);
                forwarded_.set_trusted(proxies);
            });
        http_->set_quota(http_quota_of(config_, descriptors_.http_connections));
        game_->configure(config_, tls_);
        if (tls_.http) http_->set_tls(tls_.http);
        store_->keep_history(history_limits_of(config_));
    }

    void add_game_figures() {
        metrics_.add([this] {
            const auto snapshot = game_->snapshot();
            return snapshot ? loop_metrics(snapshot->loop) : std::vector<Metric>();
        });
        metrics_.add([this] {
            const auto snapshot = game_->snapshot();
            return snapshot ? core_metrics(snapshot->core) : std::vector<Metric>();
        });
        metrics_.add([this] { return net_metrics(game_->network()); });
        metrics_.add([this] { return store_metrics(store_->figures(), recovery_); });
    }

    void add_figures() {
        metrics_.add([this] {
            Metric build{"muster_build_info", "Which Muster this is", MetricType::gauge, {}, {}};
            build.samples.push_back({{{"version", std::string(version())}}, 1});
            Metric wrong_tokens{"muster_auth_failures_total", "Wrong secrets", MetricType::counter, {}, {}};
            wrong_tokens.samples.push_back({{{"port", "http"}}, static_cast<double>(gate_.wrong_tokens())});
            std::vector<Metric> all{
                build,
                wrong_tokens,
                counter("muster_admin_auth_failures_total", "Requests with a wrong or missing admin token",
                        static_cast<double>(gate_.failures())),
                counter("muster_log_dropped_total", "Log lines that nobody could read",
                        static_cast<double>(output_.dropped())),
                counter("muster_log_held_back_total", "Log lines held back because there were too many of their kind",
                        static_cast<double>(log_.suppressed())),
            };
            Metric expiry{"muster_certificate_expiry_seconds",
                          "Time until the TLS certificate expires; negative afterwards",
                          MetricType::gauge,
                          {},
                          {}};
            const std::int64_t expires = certificate_expires_.load(std::memory_order_relaxed);
            const double now = static_cast<double>(clock_.wall().value) / 1'000;
            if (expires != 0) expiry.samples.push_back({{}, static_cast<double>(expires) - now});
            all.push_back(std::move(expiry));
            return all;
        });
    }

    Config config_;
    const std::size_t open_files_max_ = raise_open_files_limit();
    DescriptorPlan descriptors_ = plan_descriptors(config_, open_files_max_);
    const ServeOptions& options_;
    const SystemClock clock_;
    LogOutput& output_;
    Log log_;
    Time certificate_looked_at_{};
    TlsPorts tls_;                                      // the main thread's
    std::atomic<std::int64_t> certificate_expires_{0};  // any thread: seconds since 1970; 0: no TLS
    std::optional<PortsFile> ports_file_;
    ServiceManager manager_;
    Health health_{clock_};
    Metrics metrics_;
    Routes routes_;
    OperatorBook operators_;
    BlockBook blocks_;
    SystemEntropy entropy_;
    AdminGate gate_;
    ForwardedPeer forwarded_;  // the HTTP thread's, once it runs
    EventRing events_;
    OverMatches over_;
    std::optional<SqliteStore> store_;
    RecoveredState recovered_;
    Duration recovery_{0};
    std::optional<Game> game_;
    std::optional<StoreArchive> archive_;
    std::optional<GameOperator> operator_;
    std::optional<Api> api_;
    SlowReadThread slow_reads_;
    // Last, so that it stops before what its answers are made from.
    std::optional<HttpServer> http_;
};

}  // namespace

int run_daemon(const Config& config, const ServeOptions& options) {
    Signals signals;
    disable_core_dumps();
    LogOutput output(STDERR_FILENO,
                     log_style_for(STDERR_FILENO, std::getenv("JOURNAL_STREAM"), std::getenv("NO_COLOR")));
    const auto failed = [&output](ExitCode code, const std::exception& failure, const char* hint = "") {
        output.print(fmt::format("muster: {}{}", failure.what(), hint));
        return to_int(code);
    };
    constexpr const char* port_hint =
        "\n  is another Muster running? `ss -ltnp` shows who has a port; `listen` in the config sets another one";
    try {
        Daemon(config, options, output).run(signals);
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

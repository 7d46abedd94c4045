#include "daemon/cell_runner.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "base/thread_name.h"
#include "cluster/cell_past.h"
#include "core/recovery_check.h"
#include "daemon/cell_api.h"
#include "daemon/game_config.h"
#include "daemon/game_metrics.h"
#include "daemon/tls_ports.h"
#include "relay/game_ports.h"
#include "store/store_fault.h"

namespace muster {
namespace {

using namespace std::chrono_literals;

// How soon an owner notices that it lost the cell, or is to give it away.
constexpr Duration owner_looks_every = 100ms;
// After a hand-over: for how long, and how often it looks, peers are led to the successor.
constexpr Duration successor_followed_for = 3s;
constexpr Duration successor_looked_for_every = 50ms;
// A store that could not be opened or recovered is tried again.
constexpr Duration try_again_after = 1s;

// Peers come by the node port only.
NetworkConfig network_without_sockets(const Config& config) {
    NetworkConfig network;
    for (const Port port : ports) {
        network.of(port).limits = port_limits_of(config, port);
        network.of(port).inbox = {};
    }
    network.of(Port::players).order = config.players.byte_order;
    network.threads = 0;
    return network;
}

}  // namespace

// The order of its members is that in which they come and, backwards, go.
struct CellRunner::Term {
    Term(CellRunner& runner, NodeCell& of, const Config& config)
        : cell(of),
          ports(runner.parts_.clock, network_without_sockets(config), false),
          game(config, ports, runner.parts_.clock, runner.parts_.log, of.store(), runner.health_, runner.cell_) {}

    NodeCell& cell;
    CellPast past;
    GamePorts ports;
    Game game;
    std::unique_ptr<CellApi> api;
    CellDoor* door = nullptr;
    Duration recovery{0};
    std::unique_ptr<PgNews> news;
};

CellRunner::CellRunner(const Parts& parts, CellNumber number)
    : parts_(parts),
      number_(number),
      cell_(parts.node.plans()[number].name),
      health_(parts.clock),
      config_(parts.config) {}

void CellRunner::start() {
    thread_ = std::thread([this] { run(); });
}

CellRunner::~CellRunner() {
    static_cast<void>(stop());
}

void CellRunner::begin_stop() {
    stop_asked_.store(true, std::memory_order_release);
    const std::lock_guard lock(wait_mutex_);
    wait_.notify_all();
}

bool CellRunner::stop() {
    begin_stop();
    if (thread_.joinable()) thread_.join();
    return has_successor_.load(std::memory_order_acquire);
}

bool CellRunner::wait(Duration at_most) {
    std::unique_lock lock(wait_mutex_);
    return !wait_.wait_for(lock, at_most, [this] { return is_stopping(); });
}

void CellRunner::run() {
    name_this_thread("cell");
    while (!is_stopping()) {
        try {
            live();
        } catch (const StoreError& failure) {
            // The database went away, or another node was faster: both may be over soon.
            if (failure.exit_code != exit_taken_over && failure.exit_code != exit_io) parts_.die(failure);
            parts_.log.warning("Cell {}: {}", cell_, failure.what());
            static_cast<void>(wait(try_again_after));
        }
    }
}

void CellRunner::live() {
    const std::unique_ptr<NodeCell> cell = parts_.node.open_cell(cell_);
    if (!stand_by(*cell)) return;
    own(*cell);
    if (!is_stopping()) follow_successor();
}

bool CellRunner::stand_by(NodeCell& cell) {
    while (!is_stopping()) {
        if (cell.try_to_own(parts_.node.member())) return true;
        parts_.relay.set_target(cell.owner(parts_.node.member()), number_);
        static_cast<void>(wait(Node::look_every));
    }
    return false;
}

void CellRunner::own(NodeCell& cell) {
    const Time begun = parts_.clock.now();
    is_lost_.store(false, std::memory_order_release);
    health_.set_phase(Health::Phase::recovering);
    RecoveredState recovered = cell.store().recover();
    if (const auto damage = damage_of(recovered))
        throw StoreError(exit_damaged, fmt::format("cell {} is damaged: {}", cell_, *damage));
    const Config begun_with = config();
    Term term(*this, cell, begun_with);
    term.recovery = parts_.clock.now() - begun;
    parts_.log.with(LogLevel::info,
                    {{"servers", recovered.servers.size()},
                     {"matches", recovered.matches.size()},
                     {"seconds", to_seconds(term.recovery)}},
                    "Opened cell {}", cell_);
    if (number_ == 0) parts_.books.own(recovered);
    term.past.begin(cell.store(), recovered, parts_.books, parts_.clock);
    term.api = parts_.http.open_cell({term.game, parts_.node, cell.store(), health_, term.past,
                                      [this](const MoveWish& wish) { return ask_to_move(wish); }});
    term.door = &parts_.port.open({cell_, cell.term(), generation_},
                                  {term.ports.network(), term.game.waiter(),
                                   [api = term.api.get()](const std::string& question, const CellDoor::Answer& answer) {
                                       api->answer(question, answer);
                                   }});
    term.ports.network().set_node_worker(term.door);
    // This node's own relay is one of those that tell of their peers.
    term.game.hold_requests([this, door = term.door] { return door->told() >= parts_.node.others_alive() + 1; });
    term.game.start(
        std::move(recovered), [this] { health_.set_phase(Health::Phase::ready); },
        [this](const StoreError& error) {
            if (error.exit_code != exit_taken_over) parts_.die(error);
            // N-2: no promise is kept any more, since no outcome comes.
            parts_.figures.fence_rejections.fetch_add(1, std::memory_order_relaxed);
            parts_.log.error("Gives cell {} up: {}", cell_, error.what());
            is_lost_.store(true, std::memory_order_release);
        });
    {
        const std::lock_guard lock(mutex_);
        term_ = &term;
        // A reload may have come since it was begun.
        term.game.configure(config_, TlsPorts{}, [] {});
    }
    is_owned_.store(true, std::memory_order_release);
    term.news = parts_.node.open_news(parts_.node.plans()[number_], [this, &game = term.game](CellNews&& news) {
        return take_news(game, std::move(news));
    });
    parts_.relay.set_target(parts_.node.own_target(cell.term()), number_);
    serve(term);
}

// On the thread of the news.
bool CellRunner::take_news(Game& game, CellNews&& news) {
    if (news.rules) parts_.books.follow(*news.rules);
    return game.ask([taken = std::make_shared<CellNews>(std::move(news))](const Pass& pass, Game::Inside& inside) {
        inside.core.take_news(pass, *taken);
    });
}

void CellRunner::serve(Term& term) {
    for (;;) {
        const bool goes_on = wait(owner_looks_every);
        if (is_lost_.load(std::memory_order_acquire)) return give_away(term, false);
        const std::string next = goes_on ? term.cell.next_owner(parts_.node.member()) : std::string();
        if (goes_on && next.empty()) continue;
        has_successor_.store(term.cell.choose_successor(parts_.node.member(), next), std::memory_order_release);
        return give_away(term, true);
    }
}

void CellRunner::give_away(Term& term, bool hands_over) {
    const Duration limit = config().shutdown.deadline;
    const Time deadline = parts_.clock.now() + limit;
    is_owned_.store(false, std::memory_order_release);
    term.news.reset();
    if (number_ == 0) parts_.books.leave();
    {
        const std::lock_guard lock(mutex_);
        term_ = nullptr;
    }
    const bool has_ended =
        hands_over ? term.game.stop(limit / 2, GameEnd::hands_over) : term.game.stop(Duration{0}, GameEnd::abandons);
    if (!has_ended) parts_.die(StoreError(exit_io, fmt::format("the game loop of cell {} did not end in time", cell_)));
    term.ports.network().set_node_worker(nullptr);
    generation_ = parts_.port.close(*term.door);
    parts_.http.close_cell(std::move(term.api));
    const Duration left = std::max<Duration>(deadline - parts_.clock.now() - 1s, Duration{0});
    if (hands_over && !term.cell.store().stop(left))
        parts_.log.error("Cell {}: the store did not write everything in time; the next owner recovers", cell_);
}

void CellRunner::follow_successor() {
    const Time until = parts_.clock.now() + successor_followed_for;
    do {
        const auto owner = owner_by_rows(parts_.node.member(), cell_, parts_.node.name());
        parts_.relay.set_target(owner, number_);
        if (owner && parts_.relay.is_linked(number_)) return;
    } while (wait(successor_looked_for_every) && parts_.clock.now() < until);
}

MoveVerdict CellRunner::ask_to_move(const MoveWish& wish) {
    const MoveVerdict verdict = parts_.node.judge_move(wish.node);
    if (wish.cell != cell_) return MoveVerdict::unknown_cell;
    if (verdict != MoveVerdict::begun) return verdict;
    const std::lock_guard lock(mutex_);
    if (!term_) return MoveVerdict::unknown_cell;
    event::OperatorAction done;
    done.operator_name = wish.operator_name;
    done.who = wish.address;
    done.action = "move";
    done.target = "cell " + wish.cell + " to " + wish.node;
    // The event is written before the cell is handed over: the game writes all that it has first.
    static_cast<void>(
        term_->game.ask([done](const Pass&, Game::Inside& inside) { static_cast<void>(inside.events.publish(done)); }));
    term_->cell.ask_to_move(wish.node);
    return verdict;
}

Config CellRunner::config() const {
    const std::lock_guard lock(mutex_);
    return config_;
}

void CellRunner::configure(const Config& config, std::function<void()> held) {
    const std::lock_guard lock(mutex_);
    config_ = config;
    if (!term_) return held();
    term_->cell.store().keep_history(history_limits_of(config));
    term_->game.configure(config, TlsPorts{}, std::move(held));
}

std::vector<Metric> CellRunner::metrics() const {
    std::vector<Metric> all;
    {
        const std::lock_guard lock(mutex_);
        if (term_) {
            all = store_metrics(term_->cell.store().figures(), term_->recovery);
            if (const auto figures = term_->game.figures()) {
                for (auto& part : {loop_metrics(figures->loop), core_metrics(figures->core)})
                    all.insert(all.end(), part.begin(), part.end());
            }
        }
    }
    for (Metric& metric : all) {
        for (MetricSample& sample : metric.samples) sample.labels.push_back({"cell", cell_});
        for (MetricHistogram& histogram : metric.histograms) histogram.labels.push_back({"cell", cell_});
    }
    all.push_back(owned_metric(cell_, is_owned()));
    return all;
}

}  // namespace muster

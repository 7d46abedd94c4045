#include "daemon/game.h"

#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/planted.h"
#include "base/thread_name.h"
#include "daemon/game_config.h"

namespace muster {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t commands_max = 1'024;
// More outcomes than batches that the store may owe can never wait.
constexpr std::size_t outcomes_max = 65'536;
constexpr Duration publish_every = 1s;
// Past the limit of a stop, the pass under way may take so long to end.
constexpr Duration last_pass_max = 1s;
// Of a hand-over: requests whose offer is out may finish for so long; the next owner is asked the others again.
constexpr Duration offers_finish_max = 250ms;
// A store that may not answer yet is asked again.
constexpr Duration look_again_after = 10ms;

}  // namespace

Game::Game(const Config& config, GamePorts& ports, const Clock& clock, Log& log, Store& store, Health& health,
           std::string cell)
    : clock_(clock),
      log_(log),
      store_(store),
      health_(health),
      ports_(ports),
      network_(ports.network()),
      book_(ports.keeps_peers() ? &ports.book() : nullptr),
      cell_(std::move(cell)),
      config_(config),
      commands_("commands", commands_max, network_.waiter(), [](const Pass& pass, Command& command) { command(pass); }),
      outcomes_("store", outcomes_max, network_.waiter(),
                [this](const Pass& pass, BatchOutcome& outcome) {
                    held_.take(
                        std::move(outcome), [this] { return store_.may_answer(Store::answer_margin); },
                        [&](BatchOutcome&& told) { tell_outcome(pass, std::move(told)); });
                    if (held_.waiting()) look_again_soon();
                }),
      loop_(clock, log, loop_config_of(config)),
      to_store_(store) {}

Game::~Game() {
    if (stop(Duration{0}, book_ ? GameEnd::abandons : GameEnd::closes)) return;
    thread_.join();
    leave_peers();
}

void Game::start(RecoveredState&& recovered, std::function<void()> on_ready, Store::OnFatal on_store_fatal) {
    on_ready_ = std::move(on_ready);
    core_.emplace(core_config_of(config_, cell_),
                  Core::Parts{loop_, log_, link_output(), to_store_, entropy_, clock_, clock_.wall()},
                  std::move(recovered));
    loop_.add_source(commands_);
    loop_.add_source(outcomes_);
    if (book_) noted_peers_.emplace(*core_, *book_, network_.node_worker_number());
    for (const Port port : ports) {
        const auto index = static_cast<std::size_t>(port);
        sources_[index] = port_source(port);
        loop_.add_source(*sources_[index]);
    }
    park(true);
    loop_.on_flush([this](const Pass& pass) {
        if (stopping() && end_way_ == GameEnd::abandons) {
            draining_ = true;
            return loop_.stop();
        }
        if (stopping() && !draining_) drain(pass);
        if (waits_for_offers_ && core_->matches().in_flight() == 0) hand_over(pass);
        core_->end_of_pass(pass);
        if (core_->take_promised()) held_.promised();
        if (held_.may_send([this] { return store_.may_answer(Duration::zero()); })) {
            for (const AnsweredQuestion& answered : core_->take_answered()) on_answered_(answered);
            for (HostVerdict& verdict : core_->take_host_verdicts()) on_host_verdict_(std::move(verdict));
            network_.links().flush();
            if (book_) book_->flushed();
        } else {
            look_again_soon();
        }
        if (draining_ && !waits_for_offers_) end_when_written();
    });
    figures_line_.emplace(log_, loop_, *core_, config_.game.stats_interval);
    loop_.timers().start({.first_delay = publish_every, .interval = publish_every},
                         [this](const TimerFired& fired) { publish(fired.pass); });
    store_.start(
        [this](BatchOutcome outcome) { MUSTER_CHECK(outcomes_.post(std::move(outcome)), "every outcome has room"); },
        std::move(on_store_fatal));
    thread_ = std::thread([this] { run(); });
}

// Peers that end with the game are core's own affair: nothing stands between net and core.
LinkOutput& Game::link_output() {
    if (!book_) return network_.links();
    return noted_links_.emplace(network_.links(), *book_);
}

std::unique_ptr<PortSource> Game::port_source(Port port) {
    if (!noted_peers_) return std::make_unique<NetSource<Core, Network>>(network_, port, *core_);
    return std::make_unique<NetSource<NotedPeers, Network>>(network_, port, *noted_peers_);
}

void Game::run() {
    name_this_thread("game");
    turn_until_ready();
    if (!draining_) {
        publish(loop_.time().pass());  // figures are there from the first moment on
        // Those that are there already come first.
        loop_.timers().start({.first_delay = Duration{0}, .base = TimeBase::real},
                             [this](const TimerFired& fired) { let_peers_in(fired.pass); });
        ports_.open();
        on_ready_();
    }
    loop_.run(network_.waiter());
    ended_.set_value();
}

void Game::let_peers_in(const Pass& pass) {
    if (noted_peers_) noted_peers_->tell_of_all(pass);
    if (draining_) return;
    for (const Port port : {Port::servers, Port::players}) sources_[static_cast<std::size_t>(port)]->park(false);
    let_requests_in(pass.now + requests_wait_max);
}

void Game::let_requests_in(Time until) {
    if (draining_) return;
    if (!all_here_ || all_here_() || clock_.now() >= until)
        return sources_[static_cast<std::size_t>(Port::matchmakers)]->park(false);
    loop_.timers().start({.first_delay = look_again_after, .base = TimeBase::real},
                         [this, until](const TimerFired&) { let_requests_in(until); });
}

// Core hears of no peer while they are parked.
void Game::park(bool parked) {
    for (const auto& source : sources_) source->park(parked);
}

// The thread has ended. What was not said is not said any more, and what was not handled is for the next owner.
void Game::leave_peers() {
    if (!book_ || end_way_ == GameEnd::closes) return network_.stop();
    network_.links().discard();
    book_->discarded();
    for (const auto& source : sources_) source->give_back();
    network_.forget_sources();
}

// Nobody may come before the first numbers are durable, or one could be given twice.
void Game::turn_until_ready() {
    loop_.bind_to_this_thread();
    while (!core_->ready() && !draining_) {
        loop_.turn();
        health_.loop_turned(clock_.now());
        network_.waiter().wait_until(clock_.now() + 10ms);
    }
}

bool Game::stop(Duration limit, GameEnd how) {
    if (!thread_.joinable()) return true;
    stop_limit_ = limit;
    end_way_ = how;
    const bool heard = !planted(Bug::stop_needs_room) || commands_.post([](const Pass&) {});
    stop_asked_.store(heard, std::memory_order_release);
    network_.waiter().notify();
    if (end_.wait_for(limit + last_pass_max) != std::future_status::ready) return false;
    thread_.join();
    leave_peers();
    return true;
}

void Game::drain(const Pass& pass) {
    draining_ = true;
    if (end_way_ == GameEnd::hands_over) {
        // Offers that are out may still be taken; all else waits for the next owner.
        sources_[static_cast<std::size_t>(Port::matchmakers)]->park(true);
        sources_[static_cast<std::size_t>(Port::players)]->park(true);
        waits_for_offers_ = true;
        loop_.timers().start({.first_delay = offers_finish_max, .base = TimeBase::real},
                             [this](const TimerFired& fired) { hand_over(fired.pass); });
    } else {
        network_.stop_accepting();
        core_->shut_down(pass);
    }
    // A disk that takes too long does not hold the end up.
    loop_.timers().start({.first_delay = stop_limit_, .base = TimeBase::real},
                         [this](const TimerFired&) { loop_.stop(); });
}

void Game::hand_over(const Pass& pass) {
    if (!std::exchange(waits_for_offers_, false)) return;
    park(true);
    core_->hand_over(pass);
}

void Game::tell_outcome(const Pass& pass, BatchOutcome&& outcome) {
    core_->store_outcome(pass, std::move(outcome));
    health_.set_store_up(core_->ledger().store_up());
    health_.set_store_misplaced(core_->ledger().fault() == StoreFault::misplaced);
}

void Game::look_again_soon() {
    if (std::exchange(looks_again_, true)) return;
    loop_.timers().start({.first_delay = look_again_after, .base = TimeBase::real}, [this](const TimerFired& fired) {
        looks_again_ = false;
        held_.release([this] { return store_.may_answer(Store::answer_margin); },
                      [&](BatchOutcome&& told) { tell_outcome(fired.pass, std::move(told)); });
        if (held_.waiting()) look_again_soon();
    });
}

void Game::end_when_written() {
    const bool written = core_->ledger().in_flight() == 0 && !core_->ledger().waiting();
    if (written && loop_.events().waiting() == 0) loop_.stop();
}

void Game::configure(const Config& config, const TlsPorts& tls, std::function<void()> held) {
    configure_network(network_, config, tls);
    struct Reload {
        Config config;
        std::function<void()> held;
    };
    post([this, next = std::make_shared<const Reload>(Reload{config, std::move(held)})](const Pass&) {
        core_->configure(core_config_of(next->config, cell_));
        next->held();
    });
}

bool Game::ask(Question question) {
    return commands_.post([this, question = std::move(question)](const Pass& pass) {
        Inside inside{*core_, loop_.events(), clock_.wall()};
        question(pass, inside);
    });
}

void Game::post(Command command) {
    if (!commands_.post(std::move(command))) log_.error("The game loop's command queue is full; a command was dropped");
}

void Game::publish(const Pass& pass) {
    health_.loop_turned(pass.now);
    // An idle store writes nothing that could fail.
    const StoreFigures figures = store_.figures();
    health_.set_store_misplaced(figures.misplaced || core_->ledger().fault() == StoreFault::misplaced);
    health_.set_store_up(core_->ledger().store_up() && !figures.away);
    core_->observe_wall(pass, clock_.wall());
    auto next = std::make_shared<GameFigures>(GameFigures{loop_.figures(), figures_of(*core_)});
    next->taken = pass.now;
    const std::lock_guard lock(figures_mutex_);
    if (figures_ && pass.now > figures_->taken) {
        const double seconds = to_seconds(pass.now - figures_->taken);
        next->ticks_per_second = static_cast<double>(next->loop.ticks - figures_->loop.ticks) / seconds;
        next->messages_per_second =
            static_cast<double>(next->loop.messages_handled - figures_->loop.messages_handled) / seconds;
    }
    figures_ = std::move(next);
}

std::shared_ptr<const GameFigures> Game::figures() const {
    const std::lock_guard lock(figures_mutex_);
    return figures_;
}

}  // namespace muster

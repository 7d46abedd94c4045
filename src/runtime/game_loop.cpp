#include "runtime/game_loop.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/planted.h"
#include "runtime/flagged.h"
#include "runtime/guarded_call.h"

namespace muster {
namespace {

constexpr int catch_ups_max = 3;

std::int64_t whole_ms(Duration duration) {
    return std::chrono::floor<std::chrono::milliseconds>(duration).count();
}

}  // namespace

GameLoop::GameLoop(const Clock& clock, Log& log, const LoopConfig& config)
    : clock_(clock),
      log_(log),
      time_(clock),
      timers_(time_, log),
      events_(time_, log),
      budget_(clock),
      work_(clock),
      ended_(clock.now()) {
    configure(config);
}

void GameLoop::configure(const LoopConfig& config) {
    guard_.check();
    MUSTER_CHECK(config.idle_sleep >= Duration::zero(), "a wait is not negative");
    MUSTER_CHECK(config.tick_rate > Duration::zero() && config.tick_max > Duration::zero(), "a pass takes time");
    MUSTER_CHECK(config.message_time > Duration::zero(), "a pass takes messages");
    MUSTER_CHECK(config.messages_max > 0 && config.callbacks_max > 0 && config.share_least > 0, "a pass gets on");
    config_ = config;
}

void GameLoop::add_source(MessageSource& source) {
    check_between_passes();
    inlets_.push_back({&source, false});
}

void GameLoop::on_update(Update update) {
    check_between_passes();
    MUSTER_CHECK(static_cast<bool>(update), "a hook can be called");
    updates_.push_back(std::move(update));
}

void GameLoop::on_flush(Flush flush) {
    check_between_passes();
    MUSTER_CHECK(static_cast<bool>(flush), "a hook can be called");
    flushes_.push_back(std::move(flush));
}

void GameLoop::on_gap(Gap gap) {
    check_between_passes();
    MUSTER_CHECK(static_cast<bool>(gap), "a hook can be called");
    gap_hooks_.push_back(std::move(gap));
}

TurnReport GameLoop::turn() {
    check_between_passes();
    const Flagged turning(turning_);
    const Pass pass = time_.begin_pass(begin());
    budget_.begin_pass(pass.now);
    TurnReport report;
    guarded_call([&] { do_pass(pass, report); },
                 [&](std::string_view why) {
                     pass_figures_.pass_failed();
                     report.left = true;
                     log_.with(LogLevel::error, {{"error", why}}, "Game loop tick failed");
                 });
    end_pass(pass, report);
    return report;
}

std::optional<Time> GameLoop::next_wake() const {
    guard_.check();
    if (left_ || !config_.idle_cpu_enabled || events_.waiting() > 0) return ended_;
    std::optional<Time> wake = timers_.next_wake();
    if (config_.idle_sleep > Duration::zero()) {
        const Time bound = ended_ + config_.idle_sleep;
        wake = wake ? std::min(*wake, bound) : bound;
    }
    return wake;
}

void GameLoop::run(Waiter& waiter) {
    bind_to_this_thread();
    waiting_.store(&waiter);
    // stop() sets its flag, then looks for a waiter: one of the two sees the other.
    while (!stopping_.load()) {
        // What comes meanwhile ends the wait at once.
        const TurnReport report = turn();
        if (report.left || report.updates > 0 || !config_.idle_cpu_enabled) continue;
        if (stopping_.load()) break;
        pass_figures_.slept();
        waiter.wait_until(planned_);
    }
    waiting_.store(nullptr);
}

void GameLoop::stop() {
    stopping_.store(true);
    if (Waiter* waiter = waiting_.load()) waiter->notify();
}

LoopFigures GameLoop::figures() const {
    guard_.check();
    LoopFigures shot = pass_figures_.figures(time_.now());
    shot.events_dropped = events_.dropped();
    shot.events_waiting = events_.waiting();
    shot.timers_fired = timers_.fired();
    shot.timers_outstanding = timers_.size();
    shot.callback_errors[static_cast<std::size_t>(HandlerKind::timer)] = timers_.failures();
    shot.callback_errors[static_cast<std::size_t>(HandlerKind::event)] = events_.failures();
    for (const Inlet& inlet : inlets_) {
        shot.queues.push_back({std::string(inlet.source->name()), inlet.source->depth()});
    }
    return shot;
}

void GameLoop::bind_to_this_thread() {
    guard_.bind_to_this_thread();
    timers_.bind_to_this_thread();
    events_.bind_to_this_thread();
}

void GameLoop::check_between_passes() const {
    guard_.check();
    MUSTER_CHECK(!turning_, "a handler neither turns the loop that runs it nor changes what it is made of");
}

// The time at which the pass begins: after the sources caught up, where that was needed.
Time GameLoop::begin() {
    Time now = clock_.now();
    work_.begin(now);
    if (planned_) missed(now - *planned_);
    caught_up_ = unheard_ > late_least;
    // A stop may hit the catching up, too; the next pass goes on with what a row of them left.
    for (int tries = 0; unheard_ > late_least && tries < catch_ups_max; ++tries) {
        unheard_ = Duration::zero();
        catch_up();
        now = clock_.now();
        // Waiting for the network to read is no gap, and nothing was missed by it.
        if (const Duration still = work_.stood_still(now); still > gap_least) missed(still);
        work_.begin(now);
    }
    // Less is not worth a catching up, and does not add up to one: this pass reads what there is.
    if (unheard_ <= late_least) unheard_ = Duration::zero();
    return now;
}

// For so long nobody listened. When that is more than any machine under load would take, the process was stopped, and
// the silence says nothing about its peers (L-8).
void GameLoop::missed(Duration unheard) {
    unheard_ += std::max(unheard, Duration::zero());
    if (unheard <= gap_least) return;
    const auto gap = std::chrono::floor<std::chrono::milliseconds>(unheard);
    if (!planted(Bug::gap_not_left_out)) time_.stand_still(gap);
    pass_figures_.stood_still(gap);
    untold_gap_ += gap;
    guarded_call(
        [&] {
            log_.with(LogLevel::warning, {{"gap_ms", gap.count()}},
                      "The process was stopped; silence deadlines do not count the gap");
        },
        [](std::string_view) {});
}

void GameLoop::do_pass(const Pass& pass, TurnReport& report) {
    // The wheels turn before any handler runs, so that the longest delay is within their reach after the longest gap.
    timers_.begin_pass(pass);
    if (untold_gap_ > untold_gap_.zero()) tell_gap();

    // All are refilled before any message is handled: what handlers cause meanwhile waits for the next pass.
    for (Inlet& inlet : inlets_) refill(inlet);
    if (stood_still() && !planted(Bug::stop_inside_pass_unseen)) {
        // What peers said after the stop is not to be judged by the time before it: the next pass does.
        report.left = true;
        return;
    }
    if (planted(Bug::timers_before_sockets)) {
        budget_.begin_phase(callback_limit());
        timers_.run_due(pass, budget_);
    }
    report.messages = take_messages(pass);
    budget_.begin_phase(callback_limit());
    report.timers = timers_.run_due(pass, budget_);
    budget_.begin_phase(callback_limit());
    report.events = events_.dispatch(pass, budget_);
    report.updates = run_updates(pass);
    run_flushes(pass);
}

void GameLoop::catch_up() {
    for (const Inlet& inlet : inlets_) {
        guarded_call([&] { inlet.source->catch_up(); },
                     [&](std::string_view why) { source_failed(*inlet.source, why); });
    }
}

void GameLoop::tell_gap() {
    const Duration gap = std::exchange(untold_gap_, untold_gap_.zero());
    for (Gap& hook : gap_hooks_) {
        guarded_call([&] { hook(gap); }, [&](std::string_view why) { hook_failed(HandlerKind::gap, why); });
        budget_.ended(HandlerKind::gap, [] { return std::string_view("gap"); });
    }
}

std::size_t GameLoop::take_messages(const Pass& pass) {
    const auto open = std::count_if(inlets_.begin(), inlets_.end(), [](const Inlet& inlet) { return inlet.open; });

    const Duration most_time = caught_up_ ? config_.tick_rate : std::min(config_.tick_rate, config_.message_time);
    std::size_t handled = 0;
    std::int64_t turn = 0;
    for (Inlet& inlet : inlets_) {
        if (!inlet.open) continue;
        ++turn;
        handled += drain(inlet, pass, {config_.share_least, 1, pass.now + most_time * turn / open});
    }
    for (Inlet& inlet : inlets_) {
        if (!inlet.open) continue;
        const std::size_t most = config_.messages_max - std::min(handled, config_.messages_max);
        handled += drain(inlet, pass, {most, 0, pass.now + most_time});
    }
    return handled;
}

void GameLoop::refill(Inlet& inlet) {
    inlet.open = false;
    guarded_call([&] { inlet.open = inlet.source->refill(); },
                 [&](std::string_view why) { source_failed(*inlet.source, why); });
}

std::size_t GameLoop::drain(Inlet& inlet, const Pass& pass, const PhaseLimit& limit) {
    MessageSource& source = *inlet.source;
    budget_.begin_phase(limit);
    while (inlet.open && budget_.allows()) {
        guarded_call([&] { inlet.open = source.handle_next(pass); },
                     [&](std::string_view why) { message_failed(source, why); });
        if (inlet.open) budget_.ended(HandlerKind::message, [&] { return source.last_handled(); });
    }
    return budget_.used();
}

PhaseLimit GameLoop::callback_limit() const {
    return {config_.callbacks_max, 1, budget_.latest() + config_.tick_rate};
}

std::size_t GameLoop::run_updates(const Pass& pass) {
    std::size_t updated = 0;
    for (Update& update : updates_) {
        guarded_call([&] { updated += update(pass); },
                     [&](std::string_view why) { hook_failed(HandlerKind::update, why); });
        budget_.ended(HandlerKind::update, [] { return std::string_view("session updates"); });
    }
    return updated;
}

void GameLoop::run_flushes(const Pass& pass) {
    for (Flush& flush : flushes_) {
        guarded_call([&] { flush(pass); }, [&](std::string_view why) { hook_failed(HandlerKind::flush, why); });
        budget_.ended(HandlerKind::flush, [] { return std::string_view("flush"); });
    }
}

bool GameLoop::stood_still() const {
    return work_.stood_still(clock_.now()) > gap_least;
}

void GameLoop::end_pass(const Pass& pass, TurnReport& report) {
    const bool inlet_left = std::any_of(inlets_.begin(), inlets_.end(), [](const Inlet& inlet) { return inlet.open; });
    report.left = report.left || inlet_left || timers_.has_due() || events_.waiting() > 0;
    left_ = report.left;
    ended_ = clock_.now();
    time_.end_pass();

    const Duration still = work_.stood_still(ended_);
    if (!planted(Bug::stop_inside_pass_unseen)) missed(still);
    const Duration took = ended_ - pass.now - (still > gap_least ? still : Duration::zero());
    pass_figures_.pass_ended({ended_, took, report.messages, report.timers, report.events});
    if (took > config_.tick_max) warn_of_overrun(took);

    planned_ = next_wake();
    if (planned_) planned_ = std::max(*planned_, ended_);
}

void GameLoop::warn_of_overrun(Duration took) {
    pass_figures_.overran();
    const SlowestHandler& slowest = budget_.slowest();
    guarded_call(
        [&] {
            log_.with(LogLevel::warning,
                      {{"slowest", to_string(slowest.kind)}, {"name", slowest.name}, {"ms", whole_ms(slowest.took)}},
                      "Tick duration {}ms exceeded maximum {}ms", whole_ms(took), whole_ms(config_.tick_max));
        },
        [](std::string_view) {});
}

void GameLoop::message_failed(const MessageSource& source, std::string_view why) {
    pass_figures_.callback_failed(HandlerKind::message);
    log_.with(LogLevel::error, {{"source", source.name()}, {"message", source.last_handled()}, {"error", why}},
              "Message handler failed");
}

void GameLoop::source_failed(const MessageSource& source, std::string_view why) {
    pass_figures_.callback_failed(HandlerKind::message);
    log_.with(LogLevel::error, {{"source", source.name()}, {"error", why}}, "Message source failed");
}

void GameLoop::hook_failed(HandlerKind kind, std::string_view why) {
    pass_figures_.callback_failed(kind);
    log_.with(LogLevel::error, {{"error", why}}, "Loop hook {} failed", to_string(kind));
}

}  // namespace muster

// The game loop: one thread that owns all game state, and turns messages, timers and events into what happens next.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "base/function.h"
#include "base/log.h"
#include "base/time.h"
#include "runtime/events.h"
#include "runtime/loop_figures.h"
#include "runtime/loop_time.h"
#include "runtime/message_source.h"
#include "runtime/pass.h"
#include "runtime/pass_budget.h"
#include "runtime/pass_figures.h"
#include "runtime/thread_guard.h"
#include "runtime/timers.h"
#include "runtime/wakeup.h"
#include "runtime/work_stretch.h"

namespace muster {

struct LoopConfig {
    bool idle_cpu_enabled = true;  // off: the loop spins instead of waiting
    Duration idle_sleep{0};        // the longest wait; 0: as long as nothing is due
    Duration tick_rate = std::chrono::milliseconds(100);
    Duration tick_max = std::chrono::milliseconds(500);
    // Answers leave at the end of a pass: so long at most they wait for the messages behind theirs. Beyond `tick_rate`
    // it has no effect.
    Duration message_time = std::chrono::milliseconds(100);
    std::size_t messages_max = 100'000;  // in one pass
    std::size_t callbacks_max = 10'000;  // timers in one pass, and as many events
    std::size_t share_least = 64;        // messages of each source before another gets more
};

// What one pass did.
struct TurnReport {
    std::size_t messages = 0;
    std::size_t timers = 0;
    std::size_t events = 0;
    std::size_t updates = 0;
    bool left = false;  // a bound was reached, and the rest wants another pass at once

    std::size_t work_units() const { return messages + timers + events; }
    // Nothing to do, now or left: the loop may wait.
    bool idle() const { return work_units() == 0 && updates == 0 && !left; }
};

// One pass is: messages, timers, events, session updates, in that order, then the flush (L-2). It reads the clock once
// and hands the time down, and once more after each handler to keep its bounds.
//
// Gaps (L-8): the process was stopped when a pass begins over a second after the planned end of the wait, and when a
// pass takes over a second more by the clock than by the thread's CPU time. Running time leaves out either, from the
// next pass on, and that pass begins after the sources have caught up. The pass that was stopped judges by the time it
// began at, and takes no message that came after the stop.
//
// Messages (L-4): each source has its share first, in the order of adding: up to `share_least` messages, at least one,
// for no more than its part of `tick_rate`, or of `message_time` if that is less (not in a pass that caught up: what
// was said meanwhile is to be heard before silence is judged). The time left until then goes to the sources in the same
// order. So the first source comes first, and none can starve another. Timers, and after them events, may each take
// `tick_rate`, and at least one of them runs. What is left of any phase comes first in the next pass.
//
// What a handler throws is logged and counted, and the loop goes on to the next.
//
// All but stop() is for the loop's thread: the one that made it, until run() is called on another.
class GameLoop {
public:
    using Update = Function<std::size_t(const Pass&)>;
    using Flush = Function<void(const Pass&)>;
    using Gap = Function<void(Duration)>;

    // A pass that begins later than planned by more than this, or after one that stood still for longer, first lets
    // the sources catch up.
    static constexpr std::chrono::milliseconds late_least{100};
    // By more than this, and the process was stopped: running time leaves the gap out (L-8).
    static constexpr std::chrono::seconds gap_least = WorkStretch::gap_least;

    // Clock and log outlive the loop.
    GameLoop(const Clock& clock, Log& log, const LoopConfig& config = {});

    Timers& timers() { return timers_; }
    Events& events() { return events_; }
    const LoopTime& time() const { return time_; }
    const LoopConfig& config() const { return config_; }
    void configure(const LoopConfig& config);

    // Sources and hooks are added between passes. Sources in the order of their priority; they outlive the loop.
    void add_source(MessageSource& source);

    // Hooks are called in the order of adding. An update returns how much it found to do.
    void on_update(Update update);
    void on_flush(Flush flush);
    // Told the length of each gap, in whole milliseconds, at the start of the pass that found it.
    void on_gap(Gap gap);

    // One pass.
    TurnReport turn();

    // When the next pass is wanted if no message comes before: never later than the next timer. In the past when work
    // is left; nothing when only a message can bring work.
    std::optional<Time> next_wake() const;
    // The same, as the last pass found it at its end; never before that end.
    std::optional<Time> planned() const { return planned_; }

    // Turns until stop(), and waits whenever a pass found nothing to do (L-3). The calling thread becomes the loop's.
    void run(Waiter& waiter);

    // Any thread, or a signal handler: the pass under way is the last. A loop stopped before it runs does not run. The
    // waiter outlives this call.
    void stop();

    LoopFigures figures() const;

    // The calling thread owns the loop, its timers and its events from now on.
    void bind_to_this_thread();

private:
    struct Inlet {
        MessageSource* source;
        bool open;  // it may have more for this pass
    };

    void check_between_passes() const;
    Time begin();
    void missed(Duration unheard);
    void do_pass(const Pass& pass, TurnReport& report);
    void catch_up();
    void tell_gap();
    std::size_t take_messages(const Pass& pass);
    void refill(Inlet& inlet);
    std::size_t drain(Inlet& inlet, const Pass& pass, const PhaseLimit& limit);
    PhaseLimit callback_limit() const;
    std::size_t run_updates(const Pass& pass);
    void run_flushes(const Pass& pass);
    bool stood_still() const;
    void end_pass(const Pass& pass, TurnReport& report);
    void warn_of_overrun(Duration took);
    void message_failed(const MessageSource& source, std::string_view why);
    void source_failed(const MessageSource& source, std::string_view why);
    void hook_failed(HandlerKind kind, std::string_view why);

    const Clock& clock_;
    Log& log_;
    LoopConfig config_;
    ThreadGuard guard_;
    LoopTime time_;
    Timers timers_;
    Events events_;
    PassBudget budget_;
    PassFigures pass_figures_;
    std::vector<Inlet> inlets_;
    std::vector<Update> updates_;
    std::vector<Flush> flushes_;
    std::vector<Gap> gap_hooks_;

    // Since when the thread has been at work, and what it missed while it was not.
    WorkStretch work_;
    Duration unheard_{0};                      // for how long the sockets were not listened to
    bool caught_up_ = false;                   // at the beginning of this pass
    std::chrono::milliseconds untold_gap_{0};  // gaps that the hooks have not been told of

    bool turning_ = false;
    bool left_ = false;            // the last pass left work
    Time ended_;                   // the last pass
    std::optional<Time> planned_;  // when the next pass should begin at the latest

    std::atomic<bool> stopping_{false};      // any thread
    std::atomic<Waiter*> waiting_{nullptr};  // any thread: what run() waits on
};

}  // namespace muster

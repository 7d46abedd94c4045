#include "storm.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <thread>

#include <fmt/core.h>

namespace muster::storm {
namespace {

constexpr Span look_every = 100ms;
constexpr Span start_most = 15s;
constexpr Span end_most = 15s;       // the daemon itself gives up after ten
constexpr Span back_after = 2500ms;  // honest peers are back so long after a restart
constexpr Span backlog_most = 3s;    // what piled up in a stop is worked off by then
constexpr int exit_io = 74;
constexpr int exit_killed = 128 + SIGKILL;

DaemonProcess::Settings settings_of(const Life& life) {
    const Secrets secrets;
    return {
        {"MUSTER_AUTH_SERVER_TOKEN", secrets.server_token},
        {"MUSTER_AUTH_MATCHMAKER_TOKEN", secrets.matchmaker_token},
        {"MUSTER_AUTH_ADMIN_TOKEN", secrets.admin_token},
        {"MUSTER_AUTH_PLAYER_KEY", secrets.player_key},
        {"MUSTER_GAME_IDLE_CPU_ENABLED", life.spins ? "false" : "true"},
        {"MUSTER_NET_THREADS", std::to_string(life.net_threads)},
        {"MUSTER_FLEET_HEARTBEAT_INTERVAL", "1s"},
        {"MUSTER_FLEET_HEARTBEAT_TIMEOUT", "4s"},
        {"MUSTER_FLEET_ALLOCATION_ACK_TIMEOUT", "4s"},
        {"MUSTER_FLEET_ALLOCATION_DEADLINE", "10s"},
        {"MUSTER_MATCHMAKERS_HEARTBEAT_INTERVAL", "1s"},
        {"MUSTER_MATCHMAKERS_HEARTBEAT_TIMEOUT", "4s"},
        {"MUSTER_PLAYERS_PING_INTERVAL", "1s"},
        {"MUSTER_PLAYERS_PING_TIMEOUT", "4s"},
        {"MUSTER_PLAYERS_RESUME_GRACE", "10s"},
        {"MUSTER_PLAYERS_HEARTBEAT_ENABLED", life.entity_heartbeats ? "true" : "false"},
        {"MUSTER_PLAYERS_HEARTBEAT_INTERVAL", "1s"},
        {"MUSTER_LIMITS_HANDSHAKE_DEADLINE", "3s"},
        {"MUSTER_LIMITS_FRAME_DEADLINE", "2s"},
        {"MUSTER_LIMITS_FLOOD_CLOSE_AFTER", "2s"},
        {"MUSTER_LIMITS_UNSENT_BYTES", "64KiB"},
        {"MUSTER_LIMITS_TOTAL_BUFFERS", "32MiB"},
        {"MUSTER_STORE_HISTORY_MAX", "16MiB"},
    };
}

// How many threads of this machine run or want to, for each of its processors.
double threads_a_processor() {
    std::ifstream in("/proc/loadavg");
    std::string skipped;
    double running = 0;
    in >> skipped >> skipped >> skipped >> running;
    return running / std::max(1U, std::thread::hardware_concurrency());
}

}  // namespace

Storm::Storm(const StormOptions& options)
    : options_(options),
      began_(now()),
      judge_(weather_, options.limits),
      daemon_(options.program, options.preload, options.folder),
      crowd_(options.crowd, weather_, judge_, options.seed),
      raid_(options.seed) {}

std::optional<std::string> Storm::run(const Plan& plan) {
    play_lives(plan);
    if (!objected()) return std::nullopt;
    // What a peer saw first may be the daemon's end.
    std::optional<int> code = ended_;
    for (int i = 0; i < 50 && !code; ++i) {
        std::this_thread::sleep_for(10ms);
        code = daemon_.ended();
    }
    return *judge_.objection() +
           (code ? fmt::format("\nThe daemon ended with {}. It said last:\n{}", *code, daemon_.log_end()) : "");
}

void Storm::play_lives(const Plan& plan) {
    weather_.begin(Trouble::down, now());
    for (const Life& life : plan.lives) {
        if (objected()) return;
        const bool first = &life == &plan.lives.front();
        say(to_string(life));
        begin_life(life);
        if (objected()) return;
        if (first) {
            go_on_until([this] { return crowd_.complete(); }, 10s, "the honest peers did not all come in");
            go_on(1s);
            look();
            judge_.act_over("the first second");
            say("calm");
            go_on(plan.calm);
            say("calm: " + judge_.act_figures());
            if (const auto footprint = daemon_.footprint()) judge_.calm_over(*footprint, daemon_.store_bytes());
        }
        for (const Act& act : life.acts) {
            if (!objected()) play(act);
        }
    }
    if (!objected()) {
        say("the last life: everything is asked for once more, and played to its end");
        begin_life(plan.lives.front());
        finish();
    }
}

std::string Storm::figures() const {
    return fmt::format("{} allocations answered, {} speeds judged, at most {} MiB of memory and {} MiB of store",
                       crowd_.answered(), judge_.speeds_judged(), memory_most_ >> 20, store_most_ >> 20);
}

void Storm::begin_life(const Life& life) {
    ended_.reset();
    daemon_.start(settings_of(life));
    go_on_until([this] { return daemon_.ready(); }, options_.slowness * start_most, "the daemon does not start");
    if (objected()) return;
    crowd_.aim(daemon_.ports());
    operator_.aim(daemon_.ports().http);
    raid_.aim(daemon_.ports());
    weather_.end(Trouble::down, now(), back_after);
}

void Storm::play(const Act& act) {
    const std::string text = to_string(act);
    say(text);
    const Moment began = now();
    raid_.attack(act.attacks);
    if (act.fault >= FaultKind::kill) crowd_.strand_some();
    go_on(act.fault_after);
    switch (act.fault) {
        case FaultKind::none:
            break;
        case FaultKind::stop:
            stop_and_continue(act);
            break;
        case FaultKind::date:
            step_date(act);
            break;
        case FaultKind::slow_disk:
            slow_disk(act);
            break;
        case FaultKind::full_disk:
            full_disk(act);
            break;
        case FaultKind::descriptors:
            no_descriptors(act);
            break;
        case FaultKind::kill:
            hang_disk(act);
            end_life(act.fault);
            break;
        case FaultKind::terminate:
        case FaultKind::broken_disk:
            end_life(act.fault);
            break;
    }
    go_on(act.length - (now() - began));
    say("  " + judge_.act_figures());
    judge_.act_over(text);
}

void Storm::stop_and_continue(const Act& act) {
    weather_.begin(Trouble::stopped, now());
    daemon_.send_signal(SIGSTOP);
    go_on(act.fault_length);
    daemon_.send_signal(SIGCONT);
    weather_.end(Trouble::stopped, now(), 1500ms);
    weather_.begin(Trouble::backlog, now());
    weather_.end(Trouble::backlog, now(), std::min(act.fault_length, backlog_most));
}

void Storm::step_date(const Act& act) {
    weather_.begin(Trouble::date, now());
    daemon_.faults().date_offset_ms = act.date_step_ms;
    go_on(act.fault_length);
    daemon_.faults().date_offset_ms = 0;
    weather_.end(Trouble::date, now(), 1s);
}

void Storm::slow_disk(const Act& act) {
    weather_.begin(Trouble::slow_disk, now());
    daemon_.faults().sync_delay_ms = act.sync_delay_ms;
    raid_.join(act.attacks_by_fault);
    go_on(act.fault_length);
    raid_.attack(act.attacks);
    daemon_.faults().sync_delay_ms = 0;
    weather_.end(Trouble::slow_disk, now(), 3s);  // all that waits is written
}

// What was answered before it was on the disk is lost when the daemon is killed now.
void Storm::hang_disk(const Act& act) {
    weather_.begin(Trouble::slow_disk, now());
    daemon_.faults().sync_delay_ms = act.sync_delay_ms;
    go_on(act.fault_length);
    weather_.end(Trouble::slow_disk, now(), 0s);
}

void Storm::full_disk(const Act& act) {
    weather_.begin(Trouble::full_disk, now());
    daemon_.faults().disk_full = 1;
    go_on(act.fault_length);
    daemon_.faults().disk_full = 0;
    weather_.end(Trouble::full_disk, now(), 2500ms);  // the store is tried again twice a second
}

void Storm::no_descriptors(const Act& act) {
    const auto footprint = daemon_.footprint();
    if (!footprint) return;
    constexpr std::size_t left = 3;
    weather_.begin(Trouble::descriptors, now());
    const std::size_t before = daemon_.limit_descriptors(footprint->descriptors + left);
    go_on(act.fault_length);
    daemon_.limit_descriptors(before);
    weather_.end(Trouble::descriptors, now(), 2s);
}

void Storm::end_life(FaultKind how) {
    if (objected()) return;
    weather_.begin(Trouble::down, now());
    may_end_ = true;
    ended_.reset();
    int expected = 0;
    if (how == FaultKind::kill) {
        daemon_.send_signal(SIGKILL);
        expected = exit_killed;
    } else if (how == FaultKind::terminate) {
        daemon_.send_signal(SIGTERM);
    } else {
        daemon_.faults().sync_fails = 1;
        expected = exit_io;
    }
    go_on_until([this] { return ended_.has_value(); }, options_.slowness * end_most, "the daemon does not end");
    may_end_ = false;
    daemon_.faults().sync_fails = 0;
    daemon_.faults().sync_delay_ms = 0;
    daemon_.faults().sync_since_us = 0;
    crowd_.aim({});
    operator_.aim(0);
    raid_.aim({});
    if (ended_ && *ended_ != expected) {
        judge_.object(fmt::format("{} must end the daemon with {}, and it was {}:\n{}", to_string(how), expected,
                                  *ended_, daemon_.log_end()));
    }
}

void Storm::finish() {
    raid_.attack({});
    go_on(4s);
    crowd_.rest();
    go_on_until([this] { return crowd_.open() == 0; }, 30s, "some lobbies never come to an end");
    go_on(1s);
    if (const auto footprint = daemon_.footprint()) judge_.attackers_gone(*footprint);
    end_life(FaultKind::terminate);
}

void Storm::go_on(Span length) {
    const Moment until = now() + length;
    while (!objected() && now() < until) {
        crowd_.turn(std::min<Span>(until - now(), look_every / 4));
        if (now() - looked_ >= look_every) look();
    }
}

void Storm::go_on_until(const std::function<bool()>& done, Span most, const std::string& otherwise) {
    const Moment until = now() + most;
    while (!objected() && !done()) {
        go_on(5ms);
        if (may_end_ || !daemon_.runs()) look();
        if (now() > until) judge_.object(otherwise + ":\n" + daemon_.log_end());
    }
}

// What can be seen from outside, apart from what the crowd sees by itself.
void Storm::look() {
    looked_ = now();
    if (!ended_ || !may_end_) {
        if (const auto code = daemon_.ended()) {
            ended_ = code;
            if (!may_end_) judge_.object(std::string("the daemon ended by itself"));
        }
    }
    if (const auto footprint = daemon_.footprint()) {
        memory_most_ = std::max(memory_most_, footprint->memory_bytes);
        const std::size_t store_bytes = daemon_.store_bytes();
        store_most_ = std::max(store_most_, store_bytes);
        judge_.footprint(*footprint, store_bytes);
    }
    hear_machine();
    hear_operator();
    if (auto objection = raid_.objection()) judge_.object(std::move(*objection));
    if (const auto some = crowd_.some_lobby())
        raid_.show({some->first, some->second.guests.front(), some->second.answer->token});
}

// While the machine wakes sleeping threads this late, a daemon that has work to do may stand still for seconds.
void Storm::hear_machine() {
    constexpr Span busy_machine = 150ms;
    constexpr Span looks_back = 3s;
    // A daemon that gets so little of a processor cannot take what a peer may send to a whole one.
    constexpr double taken_away = 10;
    const double crowding = threads_a_processor();
    judge_.crowding(crowding);
    hear_crowding(crowding);
    raid_.slow_down(options_.slowness * (crowding > taken_away ? 4 : 1));
    hear_disk();
    bool busy = noise_.overdue() > busy_machine;
    for (const Span late : noise_.fetch()) {
        judge_.noise(late);
        busy = busy || late > busy_machine;
    }
    if (busy) {
        if (!busy_at_) weather_.begin(Trouble::cut_short, looked_ - looks_back);
        busy_at_ = looked_;
    } else if (busy_at_ && looked_ - *busy_at_ > 2s) {
        weather_.end(Trouble::cut_short, looked_, 1s);
        busy_at_.reset();
    }
}

// The disk itself may be slow, too.
void Storm::hear_disk() {
    constexpr Span slow = 1s;
    FaultBlock& faults = daemon_.faults();
    const Span longest = std::chrono::microseconds(faults.longest_sync_us.exchange(0));
    // A sync that a stop interrupted seems to take as long as the stop.
    if (weather_.met({Trouble::stopped}, looked_ - look_every, looked_)) return;
    judge_.synced(longest);
    const std::chrono::microseconds since(faults.sync_since_us.load());
    const Span takes = since == since.zero() ? longest : std::max(longest, looked_.time_since_epoch() - since);
    if (takes > slow) {
        if (!disk_is_slow_) weather_.begin(Trouble::slow_disk, looked_ - takes);
        disk_is_slow_ = true;
    } else if (disk_is_slow_ && faults.sync_delay_ms == 0) {
        weather_.end(Trouble::slow_disk, looked_, 3s);
        disk_is_slow_ = false;
    }
}

// Others have the machine, by the same measure as for speeds, over about a second.
void Storm::hear_crowding(double threads) {
    constexpr double newest_counts = 0.1;
    crowding_ += newest_counts * (threads - crowding_);
    const bool crowded = crowding_ > options_.limits.latency.crowding_most;
    if (crowded && !crowded_) weather_.begin(Trouble::crowded, looked_ - 1s);
    if (!crowded && crowded_) weather_.end(Trouble::crowded, looked_, 1s);
    crowded_ = crowded;
}

void Storm::hear_operator() {
    using enum Trouble;
    for (const OperatorSaw& saw : operator_.fetch()) {
        const bool health = saw.what == "/healthz";
        if (health && saw.status == 200) judge_.answered(Service::http, saw.asked, saw.at);
        const Moment since = saw.asked - 1s;
        // With the store down the daemon is not ready, and neither reads the history nor acts. Who listens hears of a
        // thing when it is on the disk: of what a slow disk held up all at once, and more than fits.
        const bool needs_store = saw.what == "/readyz" || saw.what == "/api/v1/events" || saw.expected != 200;
        const bool by_disk = (saw.status == 503 && needs_store) || saw.what == HonestOperator::stream_lost;
        const bool excused = weather_.met({down, stopped, descriptors, cut_short}, since, saw.at) ||
                             (by_disk && weather_.met({slow_disk, full_disk}, since, saw.at));
        if (saw.status == saw.expected || excused) continue;
        judge_.object(fmt::format("the operator got {} for {} after {:.1f} s",
                                  saw.status == 0 ? "no answer" : std::to_string(saw.status), saw.what,
                                  seconds(saw.at - saw.asked)));
    }
}

void Storm::say(const std::string& line) const {
    fmt::print("{:6.1f} s  {}\n", seconds(now() - began_), line);
    std::fflush(stdout);
}

}  // namespace muster::storm

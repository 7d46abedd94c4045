#include "sim/host.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace muster::sim {
namespace {

using namespace std::chrono_literals;

constexpr Duration handshake_time = 10s;
constexpr Duration frame_time = 10s;
constexpr Duration gap_least = 1s;

}  // namespace

Host::Host(const Parts& parts, std::uint64_t seed, const DiskConditions& disk, std::uint64_t die_at)
    : parts_(parts),
      random_(seed),
      entropy_(seed + 1),
      disk_(parts.agenda, parts.clock, Random(seed + 2), disk, *this),
      die_at_(die_at) {
    parts.agenda.on_alarm([this] { woken(); });
}

void Host::start() {
    if (process_) return;
    ++run_;
    shutting_down_ = false;
    planned_.reset();
    stood_still_ = {};
    stop_inside_ = {};
    RecoveredState recovered = disk_.open([this](BatchOutcome outcome) {
        process_->outcome(std::move(outcome));
        wake_soon();
    });
    process_ = std::make_unique<Process>(
        Process::Parts{parts_.clock, parts_.network, disk_, parts_.court, entropy_, parts_.sabotage, parts_.rules,
                       parts_.gateway, [this] { return step(); }, [this](PassPoint point) { at_point(point); }},
        random_.next(), std::move(recovered));
    parts_.network.listen(this);
    wake_soon();
}

void Host::crash() {
    if (!process_ || turning_) return;
    ++figures_.crashes;
    disk_.crash();
    end_run("is killed", Network::Gone::maybe_power);
}

void Host::fail_sync() {
    if (!process_ || turning_) return;
    ++figures_.sync_failures;
    disk_.crash();
    end_run("ends, since its disk fails", Network::Gone::process);
}

void Host::shut_down() {
    if (!process_ || shutting_down_) return;
    ++figures_.shutdowns;
    shutting_down_ = true;
    process_->shut_down();
    parts_.court.note(parts_.clock.now(), "Muster is told to end");
    wake_soon();
    end_later(Duration(random_.between(Duration(100ms).count(), Duration(3s).count())));
}

// A process that stands still does not end.
void Host::end_later(Duration delay) {
    parts_.agenda.in(delay, [this, run = run_] {
        if (run_ != run || !process_ || !shutting_down_) return;
        if (turning_ || parts_.clock.now() < frozen_until_)
            return end_later(std::clamp<Duration>(frozen_until_ - parts_.clock.now(), 1ms, 1s));  // it may thaw before
        disk_.close();
        end_run("ends", Network::Gone::process);
    });
}

void Host::end_run(std::string_view how, Network::Gone gone) {
    count(*process_);
    parts_.network.listen(nullptr);
    parts_.network.drop_all(gone);
    process_.reset();
    frozen_until_ = Time{};
    overdue_.clear();
    waking_at_.reset();
    parts_.court.run_ended(parts_.clock.now(), how);
    start_later();
}

void Host::count(const Process& process) {
    const Core& core = process.core();
    figures_.frames_sent += process.frames_sent();
    figures_.slow_readers += process.gateway().slow_readers();
    figures_.handlers_failed += process.handlers_failed();
    figures_.stale_messages += core.stale_messages();
    figures_.bad_acks += core.matches().figures().bad_acks;
    figures_.lost_matches += core.matches().figures().lost_matches;
    figures_.load_mismatches += core.fleet().figures().load_mismatches;
}

void Host::start_later() {
    parts_.agenda.in(Duration(random_.between(Duration(50ms).count(), Duration(4s).count())), [this] { start(); });
}

void Host::freeze(Duration by) {
    if (!process_ || turning_) return;
    ++figures_.freezes;
    frozen_until_ = std::max(frozen_until_, parts_.clock.now() + by);
    parts_.court.note(parts_.clock.now(), fmt::format("Muster stands still for {:.3f} s", to_seconds(by)));
}

void Host::thaw() {
    if (parts_.clock.now() >= frozen_until_) return;
    frozen_until_ = parts_.clock.now();
    waking_at_.reset();
    wake_soon();
}

void Host::stop_inside(Duration by, Time until) {
    if (!process_ || turning_) return;
    stop_inside_ = by;
    stop_inside_until_ = until;
}

template <class Post>
void Host::post(Post post) {
    if (!process_) return;
    post(*process_);
    wake_soon();
}

void Host::drain(const OperatorDrain& wish) {
    post([&](Process& process) { process.drain(wish); });
}

void Host::abort(LobbyId lobby) {
    post([&](Process& process) { process.abort(lobby); });
}

void Host::kick(AccountId player) {
    post([&](Process& process) { process.kick(player); });
}

void Host::remove_server(ServerId server) {
    post([&](Process& process) { process.remove_server(server); });
}

void Host::set_clock(const OperatorClock& wish) {
    post([&](Process& process) { process.set_clock(wish); });
}

void Host::ask(const AllocationRequest& request) {
    post([&](Process& process) { process.ask(request); });
}

void Host::ask(const MatchPlayers& list) {
    post([&](Process& process) { process.ask(list); });
}

void Host::cancel(LobbyId lobby, std::string reason) {
    post([&](Process& process) { process.cancel(lobby, std::move(reason)); });
}

bool Host::accept(LinkNumber link, Port port, const IpAddress& peer) {
    if (!process_ || !process_->core().ready() || shutting_down_) return false;
    process_->gateway().accepted(link, port, peer);
    wake_soon();
    deadline(handshake_time, [this, link] { process_->gateway().handshake_deadline(link); });
    return true;
}

void Host::bytes(LinkNumber link, std::span<const std::byte> bytes) {
    process_->gateway().bytes(link, bytes);
    wake_soon();
}

void Host::drained(LinkNumber link) {
    process_->gateway().drained(link);
    wake_soon();
}

// A process that stands still finds what is due when it goes on.
void Host::deadline(Duration delay, std::function<void()> due) {
    parts_.agenda.in(delay, [this, run = run_, due = std::move(due)]() mutable {
        if (run_ != run || !process_) return;
        if (parts_.clock.now() < frozen_until_) return overdue_.push_back(std::move(due));
        due();
        wake_soon();
    });
}

void Host::ended(LinkNumber link) {
    process_->gateway().ended(link);
    wake_soon();
}

void Host::durable(const RecordBatch& batch) {
    parts_.court.durable(parts_.clock.now(), batch);
}

void Host::pruned(const std::map<std::int64_t, EventRecord>& events) {
    parts_.court.pruned(parts_.clock.now(), events);
}

bool Host::forge(const RecordBatch& batch) {
    return parts_.sabotage.forges(batch);
}

bool Host::step() {
    if (++figures_.steps != die_at_) return true;
    dies_ = turning_;  // as soon as the pass is over, of which nothing more is seen
    if (!turning_) crash();
    return false;
}

void Host::wake_soon() {
    wake_at(parts_.clock.now() + parts_.gateway.wake_up);
}

void Host::wake_at(Time when) {
    when = std::max(when, frozen_until_);
    if (waking_at_ && *waking_at_ <= when) return;
    waking_at_ = when;
    parts_.agenda.set_alarm(when);
}

void Host::woken() {
    if (!process_ || turning_) return;
    waking_at_.reset();
    if (parts_.clock.now() < frozen_until_) return wake_at(frozen_until_);
    turn();
}

void Host::turn() {
    ++figures_.passes;
    judge_gap();
    const Duration still_before = stood_still_;
    for (const auto& due : std::exchange(overdue_, {})) due();
    turning_ = true;
    const Time began = parts_.clock.now();
    const bool alive = process_->turn();
    turning_ = false;
    if (stood_still_ == still_before)
        figures_.longest_pass = std::max(figures_.longest_pass, parts_.clock.now() - began);
    if (std::exchange(dies_, false) || !alive) return crash();
    for (const Gateway::Begun& begun : process_->gateway().take_begun())
        deadline(frame_time, [this, begun] { process_->gateway().frame_deadline(begun); });
    if (process_->stood_still() != stood_still_) {
        parts_.court.object({"L-8", "the loop counts another gap than there was", {}, {}, parts_.clock.now()});
    }
    planned_ = process_->planned();
    waking_at_.reset();  // what woke it meanwhile was heard of
    if (const auto wake = process_->next_wake()) wake_at(std::max(*wake, parts_.clock.now()));
}

// A slow handler, or a machine that has little time for us: the world goes on meanwhile.
void Host::work_for(Duration by) {
    frozen_until_ = parts_.clock.now() + by;
    while (parts_.clock.now() < frozen_until_) parts_.agenda.step(frozen_until_);
}

// SIGSTOP in the middle of a pass: the world goes on, and what it sends lies in the kernel.
void Host::at_point(PassPoint point) {
    if (point == PassPoint::message && parts_.gateway.message_cost > Duration::zero())
        work_for(parts_.gateway.message_cost);
    if (stop_inside_ == Duration::zero() || (point != PassPoint::flush && !random_.chance(0.2))) return;
    const Time began = parts_.clock.now();
    frozen_until_ = std::min(began + std::exchange(stop_inside_, Duration::zero()), stop_inside_until_);
    if (frozen_until_ <= began) return;
    ++figures_.stops_inside;
    parts_.court.note(began,
                      fmt::format("Muster is stopped inside a pass for {:.3f} s", to_seconds(frozen_until_ - began)));
    while (parts_.clock.now() < frozen_until_) parts_.agenda.step(frozen_until_);
    const Duration stopped = parts_.clock.now() - began;
    parts_.clock.was_stopped(stopped);
    missed(stopped);
}

// A gap is the time from the planned end of a wait to the start of the next pass, or a stop inside a pass (L-8).
void Host::judge_gap() {
    if (planned_) missed(parts_.clock.now() - *planned_);
}

void Host::missed(Duration by) {
    if (by > gap_least) stood_still_ += std::chrono::floor<std::chrono::milliseconds>(by);
}

}  // namespace muster::sim

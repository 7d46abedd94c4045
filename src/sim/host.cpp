#include "sim/host.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace muster::sim {
namespace {

using namespace std::chrono_literals;

// From a byte's arrival to the pass that takes it: what comes meanwhile is taken with it.
constexpr Duration wake_up_time = 50us;
constexpr Duration handshake_time = 10s;
constexpr Duration frame_time = 10s;
constexpr Duration gap_least = 1s;

}  // namespace

Host::Host(const Parts& parts, std::uint64_t seed, const DiskConditions& disk, std::uint64_t die_at)
    : parts_(parts),
      random_(seed),
      entropy_(seed + 1),
      disk_(parts.agenda, parts.clock, Random(seed + 2), disk, *this),
      die_at_(die_at) {}

void Host::start() {
    if (process_) return;
    ++run_;
    shutting_down_ = false;
    planned_.reset();
    stood_still_ = {};
    const RecoveredState recovered = disk_.open([this](const BatchOutcome& outcome) {
        process_->outcome(outcome);
        wake_soon();
    });
    process_ = std::make_unique<Process>(Process::Parts{parts_.clock, parts_.network, disk_, parts_.court, entropy_,
                                                        parts_.sabotage, parts_.rules, [this] { return step(); }},
                                         random_.next(), recovered);
    parts_.network.listen(this);
    wake_soon();
}

void Host::crash() {
    if (!process_ || turning_) return;
    ++figures_.crashes;
    disk_.crash();
    end_run("is killed", Network::Gone::maybe_power);
}

void Host::shut_down() {
    if (!process_ || shutting_down_) return;
    ++figures_.shutdowns;
    shutting_down_ = true;
    process_->shut_down();
    parts_.court.note(parts_.clock.now(), "Muster is told to end");
    wake_soon();
    parts_.agenda.in(Duration(random_.between(Duration(100ms).count(), Duration(3s).count())), [this, run = run_] {
        if (run_ != run || !process_ || !shutting_down_) return;
        disk_.close();
        end_run("ends", Network::Gone::process);
    });
}

void Host::end_run(std::string_view how, Network::Gone gone) {
    figures_.frames_sent += process_->frames_sent();
    parts_.network.listen(nullptr);
    parts_.network.drop_all(gone);
    process_.reset();
    frozen_until_ = Time{};
    overdue_.clear();
    waking_at_.reset();
    parts_.court.run_ended(parts_.clock.now(), how);
    start_later();
}

void Host::start_later() {
    parts_.agenda.in(Duration(random_.between(Duration(50ms).count(), Duration(4s).count())), [this] { start(); });
}

void Host::freeze(Duration by) {
    if (!process_) return;
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

void Host::drain(const OperatorDrain& wish) {
    if (!process_) return;
    process_->drain(wish);
    wake_soon();
}

void Host::abort(LobbyId lobby) {
    if (!process_) return;
    process_->abort(lobby);
    wake_soon();
}

void Host::kick(AccountId player) {
    if (!process_) return;
    process_->kick(player);
    wake_soon();
}

void Host::set_clock(const OperatorClock& wish) {
    if (!process_) return;
    process_->set_clock(wish);
    wake_soon();
}

bool Host::accept(LinkNumber link, Port port, const IpAddress& peer) {
    if (!process_ || !process_->core().ready() || shutting_down_) return false;
    process_->accepted(link, port, peer);
    wake_soon();
    deadline(handshake_time, [this, link] { process_->handshake_deadline(link); });
    return true;
}

void Host::bytes(LinkNumber link, std::span<const std::byte> bytes) {
    const bool begun = process_->bytes(link, bytes);
    wake_soon();
    if (!begun) return;
    deadline(frame_time, [this, link, whole = process_->whole_frames(link)] { process_->frame_deadline(link, whole); });
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
    process_->ended(link);
    wake_soon();
}

void Host::durable(const RecordBatch& batch) {
    parts_.court.durable(parts_.clock.now(), batch);
}

bool Host::forge(const RecordBatch& batch) {
    return parts_.sabotage.forges(batch);
}

bool Host::step() {
    if (++figures_.steps != die_at_) return true;
    if (!turning_) crash();  // else as soon as the pass is over, of which nothing more is seen
    return false;
}

void Host::wake_soon() {
    wake_at(parts_.clock.now() + wake_up_time);
}

void Host::wake_at(Time when) {
    when = std::max(when, frozen_until_);
    if (waking_at_ && *waking_at_ <= when) return;
    waking_at_ = when;
    parts_.agenda.at(when, [this, serial = ++wake_serial_] { woken(serial); });
}

void Host::woken(std::uint64_t serial) {
    if (serial != wake_serial_ || !process_) return;
    waking_at_.reset();
    if (parts_.clock.now() < frozen_until_) return wake_at(frozen_until_);
    turn();
}

void Host::turn() {
    ++figures_.passes;
    judge_gap();
    for (const auto& due : std::exchange(overdue_, {})) due();
    turning_ = true;
    const bool alive = process_->turn();
    turning_ = false;
    if (!alive) return crash();
    if (process_->stood_still() != stood_still_) {
        parts_.court.object({"L-8", "the loop counts another gap than there was", {}, {}, parts_.clock.now()});
    }
    planned_ = process_->planned();
    if (const auto wake = process_->next_wake()) wake_at(std::max(*wake, parts_.clock.now()));
}

// A gap is the time from the planned end of a wait to the start of the next pass.
void Host::judge_gap() {
    const Duration late = planned_ ? parts_.clock.now() - *planned_ : Duration{0};
    if (late > gap_least) stood_still_ += std::chrono::floor<std::chrono::milliseconds>(late);
}

}  // namespace muster::sim

#include "runtime/timers.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "runtime/flagged.h"
#include "runtime/guarded_call.h"

namespace muster {
namespace {

// An interval of 0 means none here.
std::optional<TimerError> fault_of(const TimerSpec& spec, const TimerCallback& callback) {
    const bool repeats = spec.interval != Duration::zero();
    if (repeats && spec.interval < Timers::delay_least) return TimerError::interval_too_short;
    if (repeats && spec.interval > Timers::delay_most) return TimerError::interval_too_long;
    if (spec.group && spec.group->empty()) return TimerError::empty_group_name;
    if (!callback) return TimerError::empty_callback;
    if (spec.first_delay < Timers::delay_least) return TimerError::delay_too_short;
    if (spec.first_delay > Timers::delay_most) return TimerError::delay_too_long;
    return std::nullopt;
}

}  // namespace

Timers::Timers(const LoopTime& time, Log& log)
    : time_(time), log_(log), running_(time.now(TimeBase::running)), real_(time.now(TimeBase::real)) {}

Result<TimerId, TimerError> Timers::once(Duration delay, TimerCallback callback) {
    return schedule({.first_delay = delay}, std::move(callback));
}

Result<TimerId, TimerError> Timers::every(Duration interval, TimerCallback callback) {
    if (interval < delay_least) return Failure<TimerError>(TimerError::interval_too_short);
    return schedule({.first_delay = interval, .interval = interval}, std::move(callback));
}

Result<TimerId, TimerError> Timers::schedule(const TimerSpec& spec, TimerCallback callback) {
    guard_.check();
    if (const auto fault = fault_of(spec, callback)) return Failure<TimerError>(*fault);

    // What may fail for want of memory comes first, so that such a failure leaves nothing half done.
    const auto group = spec.group ? groups_.find_or_add(*spec.group) : none;
    const bool is_plain = group == none && spec.interval == Duration::zero();
    if (!is_plain) make_room_for_details();
    const std::uint64_t detailed = is_plain ? 0 : Armed::detailed;
    const TimerId id = spec.base == TimeBase::running
                           ? add<TimeBase::running>(spec.first_delay, detailed, std::move(callback))
                           : add<TimeBase::real>(spec.first_delay, detailed, std::move(callback));
    if (is_plain) return id;
    Record& made = record(id.index);
    made.details = take_details();
    details_[made.details].interval = spec.interval;
    if (group != none) {
        join_group(id.index, group);
        if (groups_[group].paused) pause(id);
    }
    return id;
}

TimerId Timers::start_any(const TimerSpec& spec, TimerCallback callback) {
    TimerSpec valid = spec;
    valid.first_delay = within_bounds(spec.first_delay);
    if (spec.interval != Duration::zero()) valid.interval = within_bounds(spec.interval);
    const auto started = schedule(valid, std::move(callback));
    MUSTER_CHECK(started.has_value(), "a timer of our own has a callback, and a name if it is in a group");
    return *started;
}

bool Timers::cancel(TimerId id) {
    guard_.check();
    Base& on = base(id);
    // First of all, so that what its captures do when they are destroyed finds the timer gone.
    if (!on.wheel.cancel(in_wheel(id))) return false;
    Record& gone = on.records[id.index >> 1];
    // What drops silently may as well stay until another timer takes its place.
    const bool is_simple = gone.details == none && gone.callback.drops_silently();
    return is_simple || forget(id.index);
}

// The record of a timer that the wheel has forgotten: takes it out of its group, and destroys its callback last. True,
// so that cancel() ends with this call.
bool Timers::forget(std::uint32_t index) {
    drop_details(index);
    const TimerCallback dying = std::move(record(index).callback);
    return true;
}

Result<void, TimerError> Timers::reschedule(TimerId id, Duration delay) {
    guard_.check();
    // Most timers are plain ones. They are looked for once: nearly all that takes time then is to wait for memory.
    if (delay >= delay_least && delay <= delay_most) {
        const Time deadline = time_.now(base_of(id.index)) + delay;
        const TimerWheel::Tick rounded = TimerWheel::rounded_up(deadline);
        const std::uint64_t payload = next_payload(rounded, deadline, 0);
        if (base(id).wheel.reschedule_without(Armed::detailed, in_wheel(id), rounded, payload)) return {};
    }
    if (!contains(id)) return Failure<TimerError>(TimerError::unknown_timer);
    if (delay < delay_least) return Failure<TimerError>(TimerError::delay_too_short);
    if (delay > delay_most) return Failure<TimerError>(TimerError::delay_too_long);
    Details& more = *details(id.index);
    more.left = delay;
    more.paused = more.group != none && groups_[more.group].paused;
    if (!more.paused) arm(id, time_.now(base_of(id.index)) + delay, Armed::detailed);
    return {};
}

void Timers::restart(TimerId id, Duration delay) {
    const auto moved = reschedule(id, within_bounds(delay));
    MUSTER_CHECK(moved.has_value(), "who restarts a timer knows that it exists");
}

std::optional<Duration> Timers::remaining(TimerId id) const {
    guard_.check();
    if (!contains(id)) return std::nullopt;
    if (const Details* more = details(id.index); more && more->paused) return more->left;
    if (!base(id).wheel.armed(in_wheel(id))) return std::nullopt;
    return std::max(exact_deadline(id) - time_.now(base_of(id.index)), Duration::zero());
}

bool Timers::contains(TimerId id) const {
    return base(id).wheel.contains(in_wheel(id));
}

Result<std::size_t, TimerError> Timers::cancel_group(std::string_view name) {
    guard_.check();
    if (name.empty()) return Failure<TimerError>(TimerError::empty_group_name);
    auto group = groups_.find(name);
    if (group == none) return 0;
    const std::size_t asked = groups_[group].size;
    groups_[group].paused = false;
    groups_.release(group);
    // The captures of a cancelled callback may do anything when they are destroyed, so the group is looked up afresh
    // for each timer; what they schedule into it is not part of what was asked for.
    std::size_t cancelled = 0;
    while (cancelled < asked) {
        group = groups_.find(name);
        if (group == none || groups_[group].first == none) break;
        cancel(id_of(groups_[group].first));
        ++cancelled;
    }
    return cancelled;
}

Result<std::size_t, TimerError> Timers::pause_group(std::string_view name) {
    guard_.check();
    if (name.empty()) return Failure<TimerError>(TimerError::empty_group_name);
    const auto index = groups_.find_or_add(name);
    TimerGroups::Group& group = groups_[index];
    if (group.paused) return 0;
    group.paused = true;
    std::size_t paused = 0;
    for (std::uint32_t at = group.first; at != none; at = details(at)->next_in_group) {
        const TimerId id = id_of(at);
        // A one-shot whose callback runs now has no time left to keep.
        if (!base(id).wheel.armed(in_wheel(id))) continue;
        pause(id);
        ++paused;
    }
    return paused;
}

Result<std::size_t, TimerError> Timers::resume_group(std::string_view name) {
    guard_.check();
    if (name.empty()) return Failure<TimerError>(TimerError::empty_group_name);
    const auto index = groups_.find(name);
    if (index == none || !groups_[index].paused) return 0;
    groups_[index].paused = false;
    std::size_t resumed = 0;
    for (std::uint32_t at = groups_[index].first; at != none; at = details(at)->next_in_group) {
        if (!details(at)->paused) continue;
        resume(id_of(at));
        ++resumed;
    }
    groups_.release(index);
    return resumed;
}

void Timers::begin_pass(const Pass& pass) {
    guard_.check();
    base(TimeBase::running).wheel.advance(pass.running);
    base(TimeBase::real).wheel.advance(pass.now);
}

std::size_t Timers::run_due(const Pass& pass, PassBudget& budget) {
    guard_.check();
    MUSTER_CHECK(!running_due_, "a callback does not run the timers that run it");
    const Flagged running(running_due_);
    std::size_t ran = 0;
    while (budget.allows()) {
        const std::optional<TimeBase> from = first_due();
        if (!from) break;
        TimerWheel::Due due;
        base(*from).wheel.pop_due(due);
        const TimerId id = outside(due.id, *from);
        const TimerGroups::Index group = group_of(id.index);
        fire(id, due.deadline - Armed::early(due.payload), pass);
        ++ran;
        ++fired_;
        budget.ended(HandlerKind::timer, [&] { return name_of(id, group); });
    }
    return ran;
}

bool Timers::has_due() const {
    return base(TimeBase::running).wheel.has_due() || base(TimeBase::real).wheel.has_due();
}

std::optional<Time> Timers::next_wake() const {
    guard_.check();
    const std::optional<Time> running = base(TimeBase::running).wheel.next_wake();
    const std::optional<Time> real = base(TimeBase::real).wheel.next_wake();
    if (!running) return real;
    const Time moved = time_.real_time_of(*running);
    return real ? std::min(*real, moved) : moved;
}

std::size_t Timers::size() const {
    return base(TimeBase::running).wheel.size() + base(TimeBase::real).wheel.size();
}

void Timers::reserve(std::size_t timers) {
    for (Base* on : {&running_, &real_}) {
        on->wheel.reserve(timers);
        on->records.reserve(timers);
    }
}

// Makes room for a timer that takes the place of none before it.
void Timers::grow(Base& on) {
    if (on.records.size() == on.wheel.size()) on.records.emplace_back();
    on.wheel.add_free();
}

Timers::Details* Timers::details(std::uint32_t index) {
    const std::uint32_t at = record(index).details;
    return at == none ? nullptr : &details_[at];
}

const Timers::Details* Timers::details(std::uint32_t index) const {
    const std::uint32_t at = record(index).details;
    return at == none ? nullptr : &details_[at];
}

TimerGroups::Index Timers::group_of(std::uint32_t index) const {
    const Details* more = details(index);
    return more ? more->group : none;
}

void Timers::make_room_for_details() {
    if (free_details_ != none) return;
    details_.emplace_back();
    free_details_ = static_cast<std::uint32_t>(details_.size() - 1);
}

// There is room for it.
std::uint32_t Timers::take_details() {
    const std::uint32_t taken = free_details_;
    free_details_ = std::exchange(details_[taken], {}).next_in_group;
    return taken;
}

void Timers::drop_details(std::uint32_t index) {
    if (record(index).details == none) return;
    leave_group(index);
    const std::uint32_t dropped = std::exchange(record(index).details, none);
    details_[dropped].next_in_group = free_details_;
    free_details_ = dropped;
}

// Of a timer that is armed.
Time Timers::exact_deadline(TimerId id) const {
    const TimerWheel& wheel = base(id).wheel;
    return wheel.deadline(in_wheel(id)) - Armed::early(wheel.payload(in_wheel(id)));
}

// The base whose first due timer comes before that of the other.
std::optional<TimeBase> Timers::first_due() const {
    const auto running = base(TimeBase::running).wheel.first_due();
    const auto real = base(TimeBase::real).wheel.first_due();
    if (!running && !real) return std::nullopt;
    if (!running) return TimeBase::real;
    if (!real) return TimeBase::running;
    const Time running_deadline = time_.real_time_of(running->deadline);
    const bool running_first = running_deadline == real->deadline ? Armed::before(running->payload, real->payload)
                                                                  : running_deadline < real->deadline;
    return running_first ? TimeBase::running : TimeBase::real;
}

void Timers::fire(TimerId id, Time deadline, const Pass& pass) {
    TimerFired fired{id, pass, {}, 0};
    const TimeBase on = base_of(id.index);
    const Time now = on == TimeBase::running ? pass.running : pass.now;
    Record& due = record(id.index);
    fired.deadline = on == TimeBase::running ? time_.real_time_of(deadline) : deadline;
    if (const Details* more = details(id.index); more && more->interval > Duration::zero()) {
        // Armed again before the call, so that the callback finds the timer as anyone else would.
        fired.missed = static_cast<std::uint64_t>((now - deadline) / more->interval);
        arm(id, deadline + more->interval * static_cast<Duration::rep>(fired.missed + 1), Armed::detailed);
    }

    // It runs from here: the callback may let the records grow, or cancel itself and have its record taken by another.
    const TimerGroups::Index group = group_of(id.index);
    TimerCallback callback = std::move(due.callback);
    guarded_call([&] { callback(fired); }, [&](std::string_view why) { callback_failed(id, group, why); });

    if (!contains(id)) return;
    const Details* const more = details(id.index);
    const bool goes_on = (more && more->paused) || base(id).wheel.armed(in_wheel(id));
    if (goes_on) {
        record(id.index).callback = std::move(callback);
    } else {
        cancel(id);
    }
}

void Timers::callback_failed(TimerId id, TimerGroups::Index group, std::string_view why) {
    ++failures_;
    if (group == none) {
        log_.with(LogLevel::error, {{"error", why}}, "Timer {} callback failed", id);
    } else {
        log_.with(LogLevel::error, {{"group", groups_[group].name}, {"error", why}}, "Timer {} callback failed", id);
    }
}

// For the warning about a slow callback.
std::string Timers::name_of(TimerId id, TimerGroups::Index group) const {
    return group == none ? fmt::format("{}", id) : fmt::format("{} {}", groups_[group].name, id);
}

void Timers::arm(TimerId id, Time deadline, std::uint64_t detailed) {
    const TimerWheel::Tick rounded = TimerWheel::rounded_up(deadline);
    base(id).wheel.reschedule(in_wheel(id), rounded, next_payload(rounded, deadline, detailed));
}

void Timers::pause(TimerId id) {
    Details& paused = *details(id.index);
    paused.left = std::max(exact_deadline(id) - time_.now(base_of(id.index)), Duration::zero());
    paused.paused = true;
    base(id).wheel.disarm(in_wheel(id));
}

void Timers::resume(TimerId id) {
    Details& resumed = *details(id.index);
    resumed.paused = false;
    arm(id, time_.now(base_of(id.index)) + resumed.left, Armed::detailed);
}

void Timers::join_group(std::uint32_t index, TimerGroups::Index into) {
    TimerGroups::Group& group = groups_[into];
    Details& joining = *details(index);
    joining.group = into;
    joining.prev_in_group = group.last;
    joining.next_in_group = none;
    (group.last == none ? group.first : details(group.last)->next_in_group) = index;
    group.last = index;
    ++group.size;
}

void Timers::leave_group(std::uint32_t index) {
    Details& leaving = *details(index);
    if (leaving.group == none) return;
    TimerGroups::Group& group = groups_[leaving.group];
    const std::uint32_t before = leaving.prev_in_group;
    const std::uint32_t after = leaving.next_in_group;
    (before == none ? group.first : details(before)->next_in_group) = after;
    (after == none ? group.last : details(after)->prev_in_group) = before;
    --group.size;
    groups_.release(leaving.group);
    leaving.group = none;
}

}  // namespace muster

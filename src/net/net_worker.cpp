#include "net/net_worker.h"

#include <algorithm>
#include <new>
#include <utility>

namespace muster {
namespace {

constexpr std::size_t arrivals_max = 4096;
// How soon to try again what there was no memory for.
constexpr Duration memory_retry = std::chrono::milliseconds(10);

std::array<PortLane, ports.size()> lanes_for(NetShared& shared) {
    const auto lane = [&](Port port) {
        const NetShared::OfPort& setup = shared.by_port[static_cast<std::size_t>(port)];
        return PortLane(port, setup.order, setup.sample_rtt, shared.limits.of(port), *setup.inbox,
                        shared.counters.of(port));
    };
    return {lane(Port::servers), lane(Port::matchmakers), lane(Port::players)};
}

// Listeners are reported by the poller under names that no connection has.
constexpr ConnectionId door_name(Port port) {
    return {static_cast<std::uint32_t>(port), 0};
}

}  // namespace

NetWorker::NetWorker(std::size_t number, NetShared& shared)
    : shared_(shared),
      arrivals_(arrivals_max),
      at_(shared.clock.now(), Duration::zero()),
      lanes_(lanes_for(shared)),
      links_(number, at_.running, poller_, lanes_, shared.quota, shared.budget),
      orders_(links_, shared.counters),
      limits_version_(shared.limits.version()) {}

void NetWorker::listen(std::vector<Listener> listeners, std::vector<NetWorker*> workers) {
    workers_ = std::move(workers);
    for (Listener& listener : listeners) {
        if (!poller_.add(listener.socket(), door_name(listener.port()))) throw std::bad_alloc();
        doors_.emplace_back(std::move(listener));
    }
}

void NetWorker::do_work(std::optional<Duration> wait) {
    if (gate_.begin_turn()) wait = Duration::zero();
    const Time before = shared_.clock.now();
    const Duration planned = next_wait(wait, before - at_.gaps);
    const auto events = poller_.wait(planned);
    const Time now = shared_.clock.now();
    const Duration late = now - before - planned;
    const bool stood_still = late > gap_least;
    if (stood_still) shared_.counters.gaps.add();
    at_ = TurnTime(now, at_.gaps + (stood_still ? late : Duration::zero()));

    take_new_limits();
    for (PortLane& lane : lanes_) {
        if (lane.blocked() && lane.inbox.has_room(lane.batch)) lane.unblock(at_);
        lane.begin_turn(at_);
    }
    links_.tell_untold_ends(at_);
    sort_events(events);
    links_.write_where_room(at_);
    out_of_memory_ = !orders_.obey(outbox_, at_);
    obey_stop();
    let_newcomers_in();
    read_ready();
    for (PortLane& lane : lanes_) {
        if (lane.must_tell_unheard(at_)) links_.tell_unheard(lane, at_);
    }
    links_.fire_timers(at_);
    tell_loop();
    gate_.end_turn(events.size() < Poller::events_max);
}

Duration NetWorker::next_wait(std::optional<Duration> wait, Time running) const {
    Duration least = std::min(wait.value_or(wait_max), wait_max);
    const auto no_later_than = [&](Time time) { least = std::min(least, time - running); };
    for (const PortLane& lane : lanes_) {
        if (!lane.blocked() && !lane.ready.empty()) return Duration::zero();
    }
    for (const Door& door : doors_) {
        if (lanes_[static_cast<std::size_t>(door.listener().port())].blocked()) continue;
        if (door.wants_attention(running)) return Duration::zero();
        if (door.rest_until()) no_later_than(*door.rest_until());
    }
    if (const auto wake = links_.next_wake()) no_later_than(*wake);
    if (stop_until_) no_later_than(*stop_until_);
    if (out_of_memory_ || links_.has_untold_ends()) least = std::min(least, memory_retry);
    return std::max(least, Duration::zero());
}

void NetWorker::take_new_limits() {
    const std::uint64_t version = shared_.limits.version();
    if (version == limits_version_) return;
    limits_version_ = version;
    for (PortLane& lane : lanes_) lane.set_limits(shared_.limits.of(lane.port));
}

void NetWorker::sort_events(std::span<const epoll_event> events) {
    for (const epoll_event& event : events) {
        const ConnectionId name = Poller::name_of(event);
        if (name.generation != 0) {
            links_.reported(name, event.events, at_);
            continue;
        }
        for (Door& door : doors_) {
            if (door_name(door.listener().port()) == name) door.knocked();
        }
    }
}

void NetWorker::obey_stop() {
    const bool stop = stop_asked_.load(std::memory_order_acquire);
    if (stop || !accepting_.load(std::memory_order_acquire)) doors_.clear();
    if (!stop) return;
    if (!stop_until_) {
        stop_until_ = at_.running + stop_max;
        links_.close_all_after_flush(at_);
    }
    if (at_.running >= *stop_until_) links_.cut_all(at_);
    if (links_.size() == 0) stopped_.store(true, std::memory_order_release);
}

void NetWorker::let_newcomers_in() {
    if (arrivals_.take(taken_over_)) {
        for (Newcomer& newcomer : taken_over_) let_in(std::move(newcomer.socket), newcomer.port);
        taken_over_.clear();
    }
    for (Door& door : doors_) {
        PortLane& lane = lanes_[static_cast<std::size_t>(door.listener().port())];
        if (lane.blocked() || !door.wants_attention(at_.running)) continue;
        door.accept_all(lane, shared_.quota, at_.running, [&](AcceptedSocket newcomer) {
            NetWorker* next = workers_[next_worker_++ % workers_.size()];
            if (next != this && next->take_over(std::move(newcomer), lane.port)) return;
            if (!let_in(std::move(newcomer), lane.port)) door.exhausted(lane, at_.running);
        });
    }
}

bool NetWorker::let_in(AcceptedSocket&& newcomer, Port port) {
    if (!stop_until_) return links_.open(std::move(newcomer), port, at_);
    shared_.quota.give_back(port, newcomer.from);
    newcomer.socket.reset();
    return true;
}

bool NetWorker::take_over(AcceptedSocket&& newcomer, Port port) {
    Newcomer handed{std::move(newcomer), port};
    if (!arrivals_.push(std::move(handed))) {
        newcomer = std::move(handed.socket);
        return false;
    }
    wake();
    return true;
}

void NetWorker::read_ready() {
    for (PortLane& lane : lanes_) {
        if (lane.blocked()) continue;
        auto& ready = lane.ready;
        std::size_t seen = 0;
        std::size_t kept = 0;
        for (; seen < ready.size() && lane.inbox.has_room(lane.batch); ++seen) {
            Connection* link = links_.find(ready[seen]);
            if (!link) continue;
            links_.cut_if_out_of_memory(*link, at_, [&] {
                if (read_link(*link, lane)) ready[kept++] = ready[seen];
            });
        }
        lane.out_of_room = seen < ready.size();
        const auto begin = ready.begin();
        ready.erase(begin + static_cast<std::ptrdiff_t>(kept), begin + static_cast<std::ptrdiff_t>(seen));
        // Those that found no room come first next time.
        std::rotate(ready.begin(), ready.begin() + static_cast<std::ptrdiff_t>(kept), ready.end());
    }
}

bool NetWorker::read_link(Connection& link, PortLane& lane) {
    link.listed = false;
    if (link.stage == LinkStage::lingering) return links_.was_read(link, {reader_.discard(link)}, at_);
    if (link.stage != LinkStage::open) return false;
    const ReadResult result = link.resuming ? reader_.resume(link, lane, at_) : reader_.read(link, lane, at_);
    return links_.was_read(link, result, at_);
}

void NetWorker::tell_loop() {
    bool told = false;
    for (PortLane& lane : lanes_) {
        lane.tell_counters();
        if (lane.batch.empty() && !lane.out_of_room) continue;
        try {
            const bool something = !lane.batch.empty();
            if (!lane.inbox.publish(lane.batch)) lane.block(at_);
            told |= something;
        } catch (const std::bad_alloc&) {
            out_of_memory_ = true;
        }
    }
    if (told) shared_.loop.notify();
}

void NetWorker::stop_accepting() {
    accepting_.store(false, std::memory_order_release);
    wake();
}

void NetWorker::stop() {
    stop_asked_.store(true, std::memory_order_release);
    wake();
}

}  // namespace muster

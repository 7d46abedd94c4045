#include "net/net_worker.h"

#include <algorithm>
#include <new>
#include <utility>

namespace muster {
namespace {

constexpr std::size_t arrivals_max = 4096;
// How soon to try again what there was no memory for.
constexpr Duration memory_retry = std::chrono::milliseconds(10);

std::array<WorkerPort, ports.size()> ports_for(NetShared& shared) {
    const auto worker_port = [&](Port port) {
        const NetShared::OfPort& setup = shared.by_port[static_cast<std::size_t>(port)];
        return WorkerPort(port, setup.order, setup.sample_rtt, shared.limits.of(port), *setup.inbox,
                          shared.figures.of(port), shared.tls.of(port));
    };
    return {worker_port(Port::servers), worker_port(Port::matchmakers), worker_port(Port::players)};
}

// Listeners are reported by the poller under names that no connection has.
constexpr ConnectionId acceptor_name(Port port) {
    return {static_cast<std::uint32_t>(port), 0};
}

}  // namespace

NetWorker::NetWorker(std::size_t number, NetShared& shared)
    : shared_(shared),
      arrivals_(arrivals_max),
      at_(shared.clock.now(), Duration::zero()),
      work_(shared.clock),
      ports_(ports_for(shared)),
      links_(number, at_.running, poller_, ports_, shared.quota, shared.budget, shared.on_insecure_peer),
      orders_(links_, shared.figures),
      limits_version_(shared.limits.version()),
      tls_version_(shared.tls.version()),
      under_way_(shared.handshakes_at_once) {}

void NetWorker::listen(std::vector<Listener> listeners, std::vector<NetWorker*> workers) {
    workers_ = std::move(workers);
    for (Listener& listener : listeners) {
        if (!poller_.add(listener.socket(), acceptor_name(listener.port()))) throw std::bad_alloc();
        acceptors_.emplace_back(std::move(listener));
    }
}

void NetWorker::do_work(std::optional<Duration> wait) {
    if (catch_up_.begin_turn()) wait = Duration::zero();
    const Time before = shared_.clock.now();
    const Duration gaps = at_.gaps + gap(work_.stood_still(before));
    const Duration planned = next_wait(wait, before - gaps);
    const auto events = poller_.wait(planned);
    const Time now = shared_.clock.now();
    at_ = TurnTime(now, gaps + gap(now - before - planned));
    work_.begin(now);

    take_new_limits();
    for (WorkerPort& worker_port : ports_) {
        if (worker_port.blocked() && worker_port.inbox.has_room(worker_port.batch)) worker_port.unblock(at_);
        worker_port.begin_turn(at_);
    }
    links_.tell_untold_ends(at_);
    take_new_tls();
    sort_events(events);
    links_.write_where_room(at_);
    orders_.let_held_go(at_);
    out_of_memory_ = !orders_.obey(outbox_, at_);
    obey_stop();
    let_newcomers_in();
    read_ready();
    begin_handshakes();
    for (WorkerPort& worker_port : ports_) {
        if (worker_port.must_tell_unheard(at_)) links_.tell_unheard(worker_port, at_);
    }
    links_.fire_timers(at_);
    // Who makes a turn on the loop's own thread looks into the inboxes next.
    if (tell_loop() && shared_.own_threads) shared_.loop.notify();
    catch_up_.end_turn(events.size() + 1 < Poller::events_max);  // a wake-up may have been one of them
}

// What of it counts as the process having been stopped.
Duration NetWorker::gap(Duration stood_still) {
    if (stood_still <= gap_least) return Duration::zero();
    shared_.figures.gaps.add();
    return stood_still;
}

Duration NetWorker::next_wait(std::optional<Duration> wait, Time running) const {
    Duration least = std::min(wait.value_or(wait_max), wait_max);
    const auto no_later_than = [&](Time time) { least = std::min(least, time - running); };
    for (const WorkerPort& worker_port : ports_) {
        if (worker_port.blocked()) continue;
        if (!worker_port.ready.empty()) return Duration::zero();
        if (worker_port.newcomers.empty()) continue;
        const auto room_at = under_way_.room_at();
        if (!room_at) return Duration::zero();
        no_later_than(*room_at);
    }
    for (const Acceptor& acceptor : acceptors_) {
        if (ports_[static_cast<std::size_t>(acceptor.listener().port())].blocked()) continue;
        if (acceptor.wants_attention(running)) return Duration::zero();
        if (acceptor.rest_until()) no_later_than(*acceptor.rest_until());
    }
    if (const auto wake = links_.next_wake()) no_later_than(*wake);
    if (const auto held = orders_.held_until()) no_later_than(*held);
    if (stop_until_) no_later_than(*stop_until_);
    if (out_of_memory_ || links_.has_untold_ends()) least = std::min(least, memory_retry);
    return std::max(least, Duration::zero());
}

void NetWorker::take_new_limits() {
    const std::uint64_t version = shared_.limits.version();
    if (version == limits_version_) return;
    limits_version_ = version;
    for (WorkerPort& worker_port : ports_) worker_port.set_limits(shared_.limits.of(worker_port.port));
}

void NetWorker::take_new_tls() {
    const std::uint64_t version = shared_.tls.version();
    if (version == tls_version_) return;
    tls_version_ = version;
    for (WorkerPort& worker_port : ports_) {
        auto next = shared_.tls.of(worker_port.port);
        if (!worker_port.tls || !next) continue;
        worker_port.tls = std::move(next);
        links_.close_revoked(worker_port, at_);
    }
}

void NetWorker::sort_events(std::span<const epoll_event> events) {
    for (const epoll_event& event : events) {
        const ConnectionId name = Poller::name_of(event);
        if (name.generation != 0) {
            links_.reported(name, event.events, at_);
            continue;
        }
        for (Acceptor& acceptor : acceptors_) {
            if (acceptor_name(acceptor.listener().port()) == name) acceptor.reported();
        }
    }
}

void NetWorker::obey_stop() {
    const bool stop = stop_asked_.load(std::memory_order_acquire);
    if (stop || !accepting_.load(std::memory_order_acquire)) acceptors_.clear();
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
    for (Acceptor& acceptor : acceptors_) {
        WorkerPort& worker_port = ports_[static_cast<std::size_t>(acceptor.listener().port())];
        if (worker_port.blocked() || !acceptor.wants_attention(at_.running)) continue;
        const auto take_in = [&](AcceptedSocket newcomer) {
            NetWorker* next = workers_[next_worker_++ % workers_.size()];
            if (next != this && next->take_over(std::move(newcomer), worker_port.port)) return;
            // A full inbox took nothing. NOLINTNEXTLINE(bugprone-use-after-move)
            if (!let_in(std::move(newcomer), worker_port.port)) acceptor.exhausted(worker_port, at_.running);
        };
        const auto make_room = [&](const IpAddress& newcomer, AcceptRefusal why) {
            return links_.make_room(worker_port.port, newcomer, why, at_);
        };
        acceptor.accept_all(worker_port, shared_.quota, at_.running, take_in, make_room);
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
        newcomer = std::move(handed.socket);  // NOLINT(bugprone-use-after-move): a full inbox took nothing
        return false;
    }
    wake();
    return true;
}

void NetWorker::read_ready() {
    handshakes_left_ = handshakes_per_turn - first_steps_least;
    for (WorkerPort& worker_port : ports_) {
        if (worker_port.blocked()) continue;
        auto& ready = worker_port.ready;
        std::size_t seen = 0;
        std::size_t kept = 0;
        for (; seen < ready.size() && worker_port.inbox.has_room(worker_port.batch); ++seen) {
            Connection* link = links_.find(ready[seen]);
            if (!link) continue;
            links_.cut_if_out_of_memory(*link, at_, [&] {
                if (read_link(*link, worker_port)) ready[kept++] = ready[seen];
            });
        }
        worker_port.out_of_room = seen < ready.size();
        const auto begin = ready.begin();
        ready.erase(begin + static_cast<std::ptrdiff_t>(kept), begin + static_cast<std::ptrdiff_t>(seen));
        // Those that found no room come first next time.
        std::rotate(ready.begin(), ready.begin() + static_cast<std::ptrdiff_t>(kept), ready.end());
    }
}

bool NetWorker::read_link(Connection& link, WorkerPort& worker_port) {
    link.listed = false;
    switch (link.stage()) {
        case LinkStage::securing:
            return secure_link(link, worker_port);
        case LinkStage::reading:
            return read_frames(link, worker_port);
        case LinkStage::resuming:
            return links_.was_read(link, reader_.resume(link, worker_port, at_), at_);
        case LinkStage::lingering:
        case LinkStage::rejected:
            return links_.was_read(link, {reader_.discard(link)}, at_);
        case LinkStage::throttled:
        case LinkStage::overdue:
        case LinkStage::faulty:
        case LinkStage::flushing:
            break;
    }
    return false;
}

bool NetWorker::read_frames(Connection& link, WorkerPort& worker_port) {
    const ReadResult result = reader_.read(link, worker_port, at_);
    if (worker_port.tls && !send_answer(link, worker_port)) return false;
    return links_.was_read(link, result, at_);
}

// The first step comes when it is the address's turn; the others follow it as they are read.
bool NetWorker::secure_link(Connection& link, WorkerPort& worker_port) {
    link.listed = true;
    if (!link.tls->has_begun()) {
        if (links_.has_left_unheard(link, at_)) return false;
        link.waits_for_us = !link.tls->has_heard();
        worker_port.newcomers.push(link.from, {link.id, at_.running});
        return false;
    }
    if (handshakes_left_ == 0) return true;
    --handshakes_left_;
    return take_handshake_step(link, worker_port);
}

// One newcomer of each port in turn, so that a flood of one port holds up no other.
void NetWorker::begin_handshakes() {
    const bool none_wait = std::all_of(ports_.begin(), ports_.end(),
                                       [](const WorkerPort& worker_port) { return worker_port.newcomers.empty(); });
    if (none_wait) return;
    under_way_.make_room(at_.running, [this](ConnectionId link) { return !is_under_way(link); });
    std::size_t left = std::min(handshakes_left_ + first_steps_least, first_steps_per_turn);
    for (bool some_wait = true; left > 0 && some_wait;) {
        some_wait = false;
        for (std::size_t i = 0; i < ports_.size() && left > 0 && under_way_.has_room(); ++i) {
            WorkerPort& worker_port = ports_[first_port_++ % ports_.size()];
            if (worker_port.blocked() || !begin_next_handshake(worker_port)) continue;
            some_wait = true;
            --left;
        }
    }
}

// Whoever has not said its first message whole costs no more than those bytes, and is not counted.
bool NetWorker::is_under_way(ConnectionId link) {
    const Connection* found = links_.find(link);
    return found && found->stage() == LinkStage::securing && found->tls->has_begun();
}

// False when nobody waits.
bool NetWorker::begin_next_handshake(WorkerPort& worker_port) {
    while (const auto next = worker_port.newcomers.pop()) {
        Connection* link = links_.find(next->link);
        if (!link) continue;
        links_.cut_if_out_of_memory(*link, at_, [&] {
            bool stays = true;  // what it was rejected for meanwhile is for the ready ones
            if (link->stage() == LinkStage::securing) {
                if (next->since != at_.running && link->waits_for_us) links_.begin_at_last(*link, at_);
                link->waits_for_us = false;
                stays = take_handshake_step(*link, worker_port);
                if (is_under_way(next->link)) under_way_.begin(next->link, at_.running);
            }
            if (stays) worker_port.ready.push_back(next->link);
        });
        return true;
    }
    return false;
}

// True when the link is to be among the ready ones.
bool NetWorker::take_handshake_step(Connection& link, WorkerPort& worker_port) {
    link.listed = false;
    const ReadOutcome outcome = reader_.secure(link, worker_port);
    if (!send_answer(link, worker_port)) return false;
    switch (links_.was_secured(link, outcome, at_)) {
        case LinkKeeper::Secured::secured:
            return links_.was_read(link, reader_.read_behind(link, worker_port, at_), at_);
        case LinkKeeper::Secured::listed:
            return true;
        case LinkKeeper::Secured::unlisted:
            break;
    }
    return false;
}

// What TLS itself has to say to the peer. False when the link is gone.
bool NetWorker::send_answer(Connection& link, WorkerPort& worker_port) {
    if (reader_.answer().empty()) return true;
    return links_.was_written(link, write_to_link(link, worker_port, reader_.answer()), at_);
}

void NetWorker::outbox_filled() {
    if (shared_.own_threads) return wake();
    // By the time of the turn before: what stood still since then is for the next turn to find out.
    out_of_memory_ |= !orders_.obey(outbox_, at_);
    if (tell_loop()) shared_.loop.notify();
}

// True when there was something to tell.
bool NetWorker::tell_loop() {
    bool told = false;
    for (WorkerPort& worker_port : ports_) {
        worker_port.tell_figures();
        if (worker_port.batch.empty() && !worker_port.out_of_room) continue;
        try {
            const bool something = !worker_port.batch.empty();
            if (!worker_port.inbox.publish(worker_port.batch)) worker_port.block(at_);
            told |= something;
        } catch (const std::bad_alloc&) {
            out_of_memory_ = true;
        }
    }
    return told;
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

#include "net/link_keeper.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <new>
#include <span>
#include <utility>

#include "tls/hello_look.h"

namespace muster {
namespace {

// A deadline of a blocked port is looked at again after so long at the soonest.
constexpr Duration blocked_retry = std::chrono::milliseconds(50);

// Memory ahead of need, so that adding later cannot fail.
template <class T>
void make_room_for(std::vector<T>& items, std::size_t count) {
    if (items.capacity() < count) items.reserve(2 * count);
}

}  // namespace

LinkKeeper::LinkKeeper(std::size_t worker, Time start, Poller& poller,
                       std::array<WorkerPort, ports.size()>& worker_ports, ConnectionQuota& quota, BufferBudget& budget,
                       const OnInsecurePeer& on_insecure_peer)
    : poller_(poller),
      ports_(worker_ports),
      quota_(quota),
      budget_(budget),
      on_insecure_peer_(on_insecure_peer),
      table_(worker),
      unproven_(table_, quota),
      wheel_(start) {}

bool LinkKeeper::open(AcceptedSocket newcomer, Port port, const TurnTime& at) {
    WorkerPort& worker_port = ports_[static_cast<std::size_t>(port)];
    Connection* link = nullptr;
    try {
        make_room_for(untold_ends_, untold_ends_.size() + table_.size() + 1);
        make_room_for(has_room_, table_.size() + 1);
        const MessageRate full_bucket(worker_port.read_time(), worker_port.unread());
        auto tls = worker_port.tls ? std::make_unique<TlsLink>(worker_port.tls) : nullptr;
        link = &table_.add(port, std::move(newcomer.socket), newcomer.from, full_bucket, budget_, std::move(tls));
        arm(link->handshake_timer, TimerKind::handshake, *link, worker_port.limits().handshake_deadline, at);
        if (!poller_.add(link->socket.number(), link->id)) throw std::bad_alloc();
        if (is_told(link->stage())) {
            worker_port.batch.add_opened(link->id, at.now, link->from);
        } else {
            unproven_.began(*link);
        }
    } catch (const std::bad_alloc&) {
        quota_.give_back(port, newcomer.from);
        if (link) {
            forget_timers(*link);
            table_.remove(*link);
        }
        return false;
    }
    worker_port.figures.accepted.add();
    worker_port.figures.connections.add();
    return true;
}

bool LinkKeeper::make_room(Port port, const IpAddress& newcomer, AcceptRefusal why, const TurnTime& at) {
    Connection* link = unproven_.giving_way_to(newcomer, ports_[static_cast<std::size_t>(port)], why, at.running);
    if (link) cut(*link, CloseReason::gave_way, at);
    return link != nullptr;
}

void LinkKeeper::reported(ConnectionId id, std::uint32_t events, const TurnTime& at) {
    Connection* found = find(id);
    if (!found) return;
    Connection& link = *found;
    if ((events & EPOLLOUT) && link.send_side == SendSide::full) {
        link.send_side = SendSide::ready;
        has_room_.push_back(link.id);
    }
    if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) link.ending = true;
    if (link.waits_for_us && has_left_unheard(link, at)) return;
    if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        cut_if_out_of_memory(link, at, [&] { mark_unread(link); });
}

void LinkKeeper::write_where_room(const TurnTime& at) {
    for (const ConnectionId id : has_room_) {
        Connection* link = find(id);
        if (!link) continue;
        cut_if_out_of_memory(*link, at, [&] { was_written(*link, write_waiting(*link, port_of(*link)), at); });
    }
    has_room_.clear();
}

void LinkKeeper::mark_unread(Connection& link) {
    link.unread = true;
    if (link.listed || !may_be_read(link)) return;
    port_of(link).ready.push_back(link.id);
    link.listed = true;
}

bool LinkKeeper::may_be_read(const Connection& link) const {
    switch (link.stage()) {
        case LinkStage::securing:
        case LinkStage::rejected:
        case LinkStage::reading:
        case LinkStage::resuming:
        case LinkStage::lingering:
            return true;
        case LinkStage::throttled:
        case LinkStage::overdue:
        case LinkStage::faulty:
        case LinkStage::flushing:
            break;
    }
    return false;
}

bool LinkKeeper::has_left_unheard(Connection& link, const TurnTime& at) {
    if (!link.ending || link.tls->has_heard()) return false;
    std::array<std::byte, HelloLook::size_needed> first{};
    const ssize_t got = recv(link.socket.number(), first.data(), first.size(), MSG_PEEK | MSG_DONTWAIT);
    const auto kind = look_at_hello(std::span(first).first(static_cast<std::size_t>(std::max<ssize_t>(got, 0)))).kind;
    // Whoever spoke something else is told so.
    if (kind == HelloLook::Kind::not_tls || kind == HelloLook::Kind::unreasonable) return false;
    tell_insecure(link, TlsFailure::incomplete, {});
    finish(link, CloseReason::tls, at);
    return true;
}

void LinkKeeper::begin_at_last(Connection& link, const TurnTime& at) {
    link.waits_for_us = false;
    arm(link.handshake_timer, TimerKind::handshake, link, port_of(link).limits().handshake_deadline, at);
}

LinkKeeper::Secured LinkKeeper::was_secured(Connection& link, ReadOutcome outcome, const TurnTime& at) {
    WorkerPort& worker_port = port_of(link);
    const auto listed = [&link] {
        link.listed = link.unread;
        return link.listed ? Secured::listed : Secured::unlisted;
    };
    switch (link.tls->state()) {
        case TlsLink::State::failed:
            reject(link, link.tls->failure(), link.tls->failure_text(), at);
            return listed();
        case TlsLink::State::handshaking:
            if (outcome == ReadOutcome::drained) link.unread = false;
            if (outcome == ReadOutcome::drained || outcome == ReadOutcome::more) return listed();
            tell_insecure(link, TlsFailure::incomplete, {});
            finish(link, CloseReason::tls, at);
            return Secured::unlisted;
        case TlsLink::State::open:
        case TlsLink::State::ended:
            break;
    }
    // It may have begun before the latest list of revoked certificates was read.
    const auto& peer = link.tls->peer();
    if (peer && worker_port.tls->material().is_revoked(peer->serial)) {
        reject(link, TlsFailure::revoked, {}, at);
        return listed();
    }
    worker_port.figures.tls_handshakes.add();
    if (link.tls->was_resumed()) worker_port.figures.tls_resumed.add();
    worker_port.batch.add_opened(link.id, at.now, link.from, peer ? std::string_view(peer->name) : std::string_view());
    unproven_.ended(link);
    link.enter(LinkStage::reading);
    return Secured::secured;
}

void LinkKeeper::tell_insecure(const Connection& link, TlsFailure why, std::string_view details) {
    port_of(link).figures.tls_failed[why].add();
    if (on_insecure_peer_) on_insecure_peer_({link.port, link.from, why, details});
}

// TLS has told the peer why; that goes out before our FIN.
void LinkKeeper::reject(Connection& link, TlsFailure why, std::string_view details, const TurnTime& at) {
    tell_insecure(link, why, details);
    forget_timers(link);
    link.enter(LinkStage::rejected);
    link.close_reason = CloseReason::tls;
    link.tls.reset();
    shutdown(link.socket.number(), SHUT_WR);
    link.rest_timer = wheel_.schedule(at.running + last_words_max, payload_of(TimerKind::close, link));
}

// False: the link is not on the ready list any more.
bool LinkKeeper::insecure(Connection& link, const TurnTime& at) {
    if (port_of(link).tls) {
        tell_insecure(link, link.tls->failure(), link.tls->failure_text());
        return ended(link, CloseReason::tls, at);
    }
    // TLS at a port without it: whatever comes is no frame. The loop closes the link.
    tell_insecure(link, TlsFailure::unexpected_tls, {});
    port_of(link).batch.add(InboundKind::malformed, link.id, at.now, static_cast<std::uint8_t>(WireError::bad_length));
    link.enter(LinkStage::faulty);
    link.listed = false;
    return false;
}

void LinkKeeper::close_revoked(WorkerPort& worker_port, const TurnTime& at) {
    if (worker_port.tls->material().revoked_count() == 0) return;
    table_.for_each([&](Connection& link) {
        if (link.port != worker_port.port || !is_told(link.stage()) || link.is_closing()) return;
        const auto& peer = link.tls->peer();
        if (!peer || !worker_port.tls->material().is_revoked(peer->serial)) return;
        cut_if_out_of_memory(link, at, [&] { close_after_flush(link, CloseReason::revoked, at); });
    });
}

bool LinkKeeper::was_read(Connection& link, const ReadResult& result, const TurnTime& at) {
    switch (result.outcome) {
        case ReadOutcome::drained:
            link.unread = false;
            if (link.is_heard()) caught_up(link, at);
            break;
        case ReadOutcome::more:
            if (link.stage() == LinkStage::resuming) link.enter(LinkStage::reading);
            break;
        case ReadOutcome::throttled:
            throttle(link, at);
            break;
        case ReadOutcome::malformed:
            link.enter(LinkStage::faulty);
            link.in.release();
            break;
        case ReadOutcome::closed:
            return ended(link, link.send_side == SendSide::broken ? CloseReason::peer_reset : CloseReason::peer_closed,
                         at);
        case ReadOutcome::reset:
            return ended(link, CloseReason::peer_reset, at);
        case ReadOutcome::timed_out:
            return ended(link, CloseReason::timed_out, at);
        case ReadOutcome::insecure:
            return insecure(link, at);
    }
    if (link.is_heard() && link.stage() != LinkStage::throttled) keep_frame_deadline(link, result.frames, at);
    link.listed = link.unread && may_be_read(link);
    return link.listed;
}

// A link that was closing anyway ends for the reason it was closed.
bool LinkKeeper::ended(Connection& link, CloseReason reason, const TurnTime& at) {
    finish(link, link.is_closing() ? link.close_reason : reason, at);
    return false;
}

void LinkKeeper::caught_up(Connection& link, const TurnTime& at) {
    link.rate.caught_up();
    link.over_rate = false;
    if (!link.told_paused) return;
    port_of(link).batch.add(InboundKind::resumed, link.id, at.now);
    link.told_paused = false;
}

void LinkKeeper::tell_paused(Connection& link, const TurnTime& at) {
    if (link.told_paused) return;
    port_of(link).batch.add(InboundKind::paused, link.id, at.now);
    link.told_paused = true;
}

void LinkKeeper::tell_unheard(WorkerPort& worker_port, const TurnTime& at) {
    for (const ConnectionId id : worker_port.ready) {
        Connection* link = find(id);
        if (!link || !link->is_heard()) continue;
        cut_if_out_of_memory(*link, at, [&] { tell_paused(*link, at); });
    }
}

void LinkKeeper::tell_if_drained(Connection& link, const TurnTime& at) {
    if (!link.drain_wanted || !link.out.empty() || link.is_closing()) return;
    port_of(link).batch.add(InboundKind::drained, link.id, at.now);
    link.drain_wanted = false;
}

bool LinkKeeper::was_written(Connection& link, WriteOutcome outcome, const TurnTime& at) {
    switch (outcome) {
        case WriteOutcome::sent:
            tell_if_drained(link, at);
            if (link.stage() == LinkStage::flushing) half_close(link, at);
            return true;
        case WriteOutcome::waiting:
            return true;
        case WriteOutcome::full:
            cut(link, CloseReason::slow_reader, at);
            return false;
        case WriteOutcome::broken:
            break;
    }
    if (link.stage() == LinkStage::flushing) {
        finish(link, link.close_reason, at);
        return false;
    }
    // What the peer said before it went is still read, to its end.
    link.send_side = SendSide::broken;
    link.ending = true;
    link.out.release();
    mark_unread(link);
    return true;
}

void LinkKeeper::throttle(Connection& link, const TurnTime& at) {
    WorkerPort& worker_port = port_of(link);
    const Time read_time = worker_port.read_time();
    if (!link.over_rate) {
        link.over_rate = true;
        link.over_rate_since = read_time;
        worker_port.figures.rate_limited.add();
        tell_paused(link, at);
    } else if (read_time - link.over_rate_since >= worker_port.limits().flood_close_after) {
        return give_up(link, LinkFault::flooded, at);
    }
    link.enter(LinkStage::throttled);
    stop_frame_deadline(link);
    const Time until = at.running + link.rate.until_refilled(worker_port.message_cost());
    if (!wheel_.reschedule(link.rest_timer, until))
        link.rest_timer = wheel_.schedule(until, payload_of(TimerKind::pause, link));
}

void LinkKeeper::resume(Connection& link) {
    link.enter(LinkStage::resuming);
    mark_unread(link);
}

// A frame that is still unfinished and began before this read keeps its deadline.
void LinkKeeper::keep_frame_deadline(Connection& link, bool frames, const TurnTime& at) {
    if (link.in.empty() && link.sealed == 0) {
        stop_frame_deadline(link);
    } else if (frames || !link.frame_begun) {
        arm(link.frame_timer, TimerKind::frame, link, port_of(link).limits().frame_deadline, at);
        link.frame_begun = true;
    }
}

void LinkKeeper::stop_frame_deadline(Connection& link) {
    if (!link.frame_begun) return;
    wheel_.disarm(link.frame_timer.id);
    link.frame_begun = false;
}

void LinkKeeper::arm(LinkTimer& timer, TimerKind kind, const Connection& link, Duration delay, const TurnTime& at) {
    timer.due = port_of(link).read_time() + delay;
    if (!wheel_.reschedule(timer.id, at.running + delay))
        timer.id = wheel_.schedule(at.running + delay, payload_of(kind, link));
}

void LinkKeeper::fire_timers(const TurnTime& at) {
    wheel_.advance(at.running);
    TimerWheel::Due due;
    while (wheel_.pop_due(due)) {
        Connection& link = table_.at(static_cast<std::uint32_t>(due.payload));
        const auto kind = static_cast<TimerKind>(due.payload >> 32);
        cut_if_out_of_memory(link, at, [&] { timer_fired(link, kind, at); });
    }
}

void LinkKeeper::timer_fired(Connection& link, TimerKind kind, const TurnTime& at) {
    switch (kind) {
        case TimerKind::handshake:
            return deadline_came(link, link.handshake_timer, LinkFault::handshake_deadline, at);
        case TimerKind::frame:
            return deadline_came(link, link.frame_timer, LinkFault::frame_deadline, at);
        case TimerKind::pause:
            return resume(link);
        case TimerKind::close:
            return last_words_ended(link, at);
    }
}

void LinkKeeper::deadline_came(Connection& link, LinkTimer& timer, LinkFault which, const TurnTime& at) {
    WorkerPort& worker_port = port_of(link);
    const Duration left = timer.due - worker_port.read_time();
    const bool not_its_fault = worker_port.blocked() || link.waits_for_us;
    if (left > Duration::zero() || not_its_fault) {
        // Whoever waits for us gets its time when its turn comes.
        const Duration retry = link.waits_for_us ? worker_port.limits().handshake_deadline : blocked_retry;
        wheel_.reschedule(timer.id, at.running + (not_its_fault ? std::max(left, retry) : left));
        return;
    }
    if (link.is_heard()) return give_up(link, which, at);
    if (link.stage() == LinkStage::securing) {
        reject(link, TlsFailure::timed_out, {}, at);
        mark_unread(link);
    }
}

void LinkKeeper::give_up(Connection& link, LinkFault fault, const TurnTime& at) {
    WorkerPort& worker_port = port_of(link);
    worker_port.batch.add(InboundKind::gave_up, link.id, at.now, static_cast<std::uint8_t>(fault));
    worker_port.figures.gave_up[fault].add();
    link.enter(fault == LinkFault::handshake_deadline ? LinkStage::overdue : LinkStage::faulty);
    stop_frame_deadline(link);
    wheel_.disarm(link.rest_timer);
}

void LinkKeeper::greeted(Connection& link) {
    wheel_.cancel(link.handshake_timer.id);
    // The loop accepted the handshake before it heard of the deadline: the two crossed, and the link goes on.
    if (link.stage() == LinkStage::overdue) resume(link);
}

void LinkKeeper::close_after_flush(Connection& link, CloseReason reason, const TurnTime& at) {
    if (link.is_closing()) return;
    if (!is_told(link.stage())) return cut(link, reason, at);
    if (port_of(link).tls) say_tls_end(link);
    forget_timers(link);
    link.in.release();
    link.enter(LinkStage::flushing);
    link.close_reason = reason;
    if (link.out.empty()) return half_close(link, at);
    link.rest_timer = wheel_.schedule(at.running + last_words_max, payload_of(TimerKind::close, link));
}

// So that the peer can tell our end from one that somebody between made.
void LinkKeeper::say_tls_end(Connection& link) {
    std::vector<std::byte> last;
    link.tls->close(last);
    // A peer that takes no more bytes goes without it.
    if (link.send_side != SendSide::broken && !last.empty())
        static_cast<void>(write_to_link(link, port_of(link), last));
}

void LinkKeeper::half_close(Connection& link, const TurnTime& at) {
    // It fails only for a peer that is gone, which the next read finds.
    shutdown(link.socket.number(), SHUT_WR);
    link.enter(LinkStage::lingering);
    const Time until = at.running + last_words_max;
    if (!wheel_.reschedule(link.rest_timer, until))
        link.rest_timer = wheel_.schedule(until, payload_of(TimerKind::close, link));
    mark_unread(link);
}

// A peer that took everything but does not answer may still get it from the kernel; one that took nothing will not.
void LinkKeeper::last_words_ended(Connection& link, const TurnTime& at) {
    if (link.stage() == LinkStage::lingering || link.stage() == LinkStage::rejected)
        return finish(link, link.close_reason, at);
    cut(link, link.close_reason, at);
}

void LinkKeeper::cut(Connection& link, CloseReason reason, const TurnTime& at) {
    // A reset frees at once what the kernel still holds for the peer.
    const linger reset{.l_onoff = 1, .l_linger = 0};
    setsockopt(link.socket.number(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    finish(link, reason, at);
}

void LinkKeeper::close_all_after_flush(const TurnTime& at) {
    table_.for_each([&](Connection& link) {
        cut_if_out_of_memory(link, at, [&] { close_after_flush(link, CloseReason::shutdown, at); });
    });
}

void LinkKeeper::cut_all(const TurnTime& at) {
    table_.for_each([&](Connection& link) { cut(link, CloseReason::shutdown, at); });
}

void LinkKeeper::finish(Connection& link, CloseReason reason, const TurnTime& at) {
    WorkerPort& worker_port = port_of(link);
    forget_timers(link);
    if (!is_told(link.stage())) unproven_.ended(link);
    quota_.give_back(link.port, link.from);
    worker_port.figures.connections.subtract();
    worker_port.figures.closed[reason].add();
    const UntoldEnd end{link.id, link.port, reason};
    const bool was_told = is_told(link.stage());
    table_.remove(link);
    if (was_told && !tell_end(end, at)) untold_ends_.push_back(end);
}

bool LinkKeeper::tell_end(const UntoldEnd& end, const TurnTime& at) {
    try {
        InboundBatch& batch = ports_[static_cast<std::size_t>(end.port)].batch;
        batch.add(InboundKind::closed, end.link, at.now, static_cast<std::uint8_t>(end.reason));
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

void LinkKeeper::tell_untold_ends(const TurnTime& at) {
    std::erase_if(untold_ends_, [&](const UntoldEnd& end) { return tell_end(end, at); });
}

void LinkKeeper::forget_timers(Connection& link) {
    wheel_.cancel(link.handshake_timer.id);
    wheel_.cancel(link.frame_timer.id);
    wheel_.cancel(link.rest_timer);
}

std::uint64_t LinkKeeper::payload_of(TimerKind kind, const Connection& link) {
    return std::uint64_t{static_cast<std::uint8_t>(kind)} << 32 | ConnectionTable::index_of(link.id);
}

}  // namespace muster

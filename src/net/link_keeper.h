// All connections of one worker, from their opening to their end, with the deadlines between.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/ip_address.h"
#include "base/time.h"
#include "net/accept_refusal.h"
#include "net/buffer_budget.h"
#include "net/connection.h"
#include "net/connection_quota.h"
#include "net/connection_table.h"
#include "net/insecure_peer.h"
#include "net/link_reader.h"
#include "net/link_writer.h"
#include "net/listener.h"
#include "net/poller.h"
#include "net/unproven_links.h"
#include "net/worker_port.h"
#include "runtime/timer_wheel.h"

namespace muster {

// The worker's thread only. What it is given outlives it.
//
// A fault is not answered here: the keeper stops reading the link and tells the loop, which answers and orders the
// close. A close flushes, calls shutdown(SHUT_WR) and waits for the peer's FIN, so that a reset does not discard our
// last bytes; each of the two takes at most `last_words_max`. A link of a port with TLS is told to the loop when its
// TLS handshake is over; one that fails before is closed without the loop.
class LinkKeeper {
public:
    static constexpr Duration last_words_max = std::chrono::seconds(1);

    LinkKeeper(std::size_t worker, Time start, Poller& poller, std::array<WorkerPort, ports.size()>& worker_ports,
               ConnectionQuota& quota, BufferBudget& budget, const OnInsecurePeer& on_insecure_peer);

    std::size_t size() const { return table_.size(); }
    // Null when the connection is gone.
    Connection* find(ConnectionId id) { return table_.find(id); }
    WorkerPort& port_of(const Connection& link) { return ports_[static_cast<std::size_t>(link.port)]; }

    // A newcomer that the quota has counted already. False when there was no memory for it: it is closed, and its
    // share of the quota given back.
    bool open(AcceptedSocket newcomer, Port port, const TurnTime& at);

    // A newcomer from there was refused by the quota: a link that has proved nothing yet may give way to it. False when
    // none does.
    bool make_room(Port port, const IpAddress& newcomer, AcceptRefusal why, const TurnTime& at);

    // The poller reported these events of epoll.
    void reported(ConnectionId id, std::uint32_t events, const TurnTime& at);

    // Links that can send what waited; call it after all events of a turn are reported.
    void write_where_room(const TurnTime& at);

    // Ends a link whose peer has left before its TLS handshake began, since it cannot finish one: that costs next to
    // nothing, and the handshake would cost much. False, and nothing done, when the peer is there, or was none of TLS.
    bool has_left_unheard(Connection& link, const TurnTime& at);

    // A TLS handshake that had to wait for others is gone on with: its deadline begins now, for the peer was not late.
    void begin_at_last(Connection& link, const TurnTime& at);

    // Handles the result of a read in a TLS handshake. `secured`: it is over, the loop knows the link, and what came
    // behind the handshake is to be read. `listed`: the link stays on its port's ready list. Otherwise it may have been
    // removed.
    enum class Secured : std::uint8_t { secured, listed, unlisted };
    Secured was_secured(Connection& link, ReadOutcome outcome, const TurnTime& at);
    // The port has a new TLS context: closes links whose peers it calls revoked (S-2).
    void close_revoked(WorkerPort& worker_port, const TurnTime& at);

    // Handles the result of a read. True when the link stays on its port's ready list; otherwise it may have been
    // removed.
    bool was_read(Connection& link, const ReadResult& result, const TurnTime& at);

    // Handles the result of a write. False when the link was removed.
    bool was_written(Connection& link, WriteOutcome outcome, const TurnTime& at);
    // Tells the loop that nothing is left to be sent, if it wants to know.
    void tell_if_drained(Connection& link, const TurnTime& at);

    // Orders of the loop. All but the first may remove the link.
    void greeted(Connection& link);
    void close_after_flush(Connection& link, CloseReason reason, const TurnTime& at);
    void cut(Connection& link, CloseReason reason, const TurnTime& at);
    void close_all_after_flush(const TurnTime& at);
    void cut_all(const TurnTime& at);

    // The port has been blocked for long: tells the loop which links wait to be read, each once until it has caught
    // up, so that the loop does not treat unread links as silent (B-1).
    void tell_unheard(WorkerPort& worker_port, const TurnTime& at);

    // Deadlines that have come.
    void fire_timers(const TurnTime& at);
    std::optional<Time> next_wake() const { return wheel_.next_wake(); }

    // A link whose handling fails for want of memory is cut, and the others go on (fault 8).
    template <class Handle>
    void cut_if_out_of_memory(Connection& link, const TurnTime& at, Handle handle) {
        try {
            handle();
        } catch (const std::bad_alloc&) {
            cut(link, CloseReason::buffers_full, at);
        }
    }

    // Retries reports of closed links for which there was no memory.
    void tell_untold_ends(const TurnTime& at);
    bool has_untold_ends() const { return !untold_ends_.empty(); }

private:
    enum class TimerKind : std::uint8_t { handshake, frame, pause, close };

    struct UntoldEnd {
        ConnectionId link;
        Port port;
        CloseReason reason;
    };

    static std::uint64_t payload_of(TimerKind kind, const Connection& link);

    void mark_unread(Connection& link);
    bool may_be_read(const Connection& link) const;

    bool ended(Connection& link, CloseReason reason, const TurnTime& at);
    void caught_up(Connection& link, const TurnTime& at);
    void tell_paused(Connection& link, const TurnTime& at);
    void timer_fired(Connection& link, TimerKind kind, const TurnTime& at);
    void throttle(Connection& link, const TurnTime& at);
    void keep_frame_deadline(Connection& link, bool frames, const TurnTime& at);
    void stop_frame_deadline(Connection& link);
    void arm(LinkTimer& timer, TimerKind kind, const Connection& link, Duration delay, const TurnTime& at);
    void deadline_came(Connection& link, LinkTimer& timer, LinkFault which, const TurnTime& at);
    void resume(Connection& link);

    void tell_insecure(const Connection& link, TlsFailure why, std::string_view details);
    void reject(Connection& link, TlsFailure why, std::string_view details, const TurnTime& at);
    void say_tls_end(Connection& link);
    bool insecure(Connection& link, const TurnTime& at);
    void give_up(Connection& link, LinkFault fault, const TurnTime& at);
    void half_close(Connection& link, const TurnTime& at);
    void last_words_ended(Connection& link, const TurnTime& at);
    void finish(Connection& link, CloseReason reason, const TurnTime& at);
    bool tell_end(const UntoldEnd& end, const TurnTime& at);
    void forget_timers(Connection& link);

    Poller& poller_;
    std::array<WorkerPort, ports.size()>& ports_;
    ConnectionQuota& quota_;
    BufferBudget& budget_;
    const OnInsecurePeer& on_insecure_peer_;
    ConnectionTable table_;
    UnprovenLinks unproven_;
    TimerWheel wheel_;
    std::vector<ConnectionId> has_room_;  // reported writable in this turn, with bytes waiting
    std::vector<UntoldEnd> untold_ends_;
};

}  // namespace muster

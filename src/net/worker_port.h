// A port as one worker sees it: its limits, its links that have something to read, and what they said in this turn.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "net/limits.h"
#include "net/message_rate.h"
#include "net/net_figures.h"
#include "net/port_inbox.h"
#include "net/turn_time.h"
#include "protocol/port.h"
#include "tls/handshake_queue.h"
#include "tls/tls_context.h"

namespace muster {

// The worker's thread only. Inbox and figures outlive it.
class WorkerPort {
public:
    WorkerPort(Port of, ByteOrder byte_order, bool wants_rtt, const PortLimits& limit, PortInbox& to,
               PortFigures& counts, std::shared_ptr<const TlsServerContext> with_tls)
        : port(of), order(byte_order), sample_rtt(wants_rtt), inbox(to), figures(counts), tls(std::move(with_tls)) {
        set_limits(limit);
    }

    // A wait that is shorter means nothing to a silence that is judged after many seconds.
    static constexpr Duration unheard_after = std::chrono::seconds(1);

    const Port port;
    const ByteOrder order;
    const bool sample_rtt;
    PortInbox& inbox;
    PortFigures& figures;

    // For links that are new; null: the port has no TLS, ever.
    std::shared_ptr<const TlsServerContext> tls;

    // What goes to the loop at the end of the turn.
    InboundBatch batch;

    // Links with unread bytes that may be read. One that is gone by now may still be named.
    std::vector<ConnectionId> ready;
    // Links whose TLS handshake could begin. They are not among the ready ones.
    struct Newcomer {
        ConnectionId link;
        Time since;
    };
    HandshakeQueue<Newcomer> newcomers;
    bool out_of_room = false;  // some ready ones were not read in this turn because the inbox is full

    // Since the figures were last told.
    std::uint64_t frames_in = 0;
    std::uint64_t bytes_in = 0;
    std::uint64_t frames_out = 0;
    std::uint64_t bytes_out = 0;

    const PortLimits& limits() const { return limits_; }
    Duration message_cost() const { return message_cost_; }
    void set_limits(const PortLimits& limits) {
        limits_ = limits;
        message_cost_ = MessageRate::cost_at(limits.messages_per_second);
    }

    // The inbox is full: the port's links are not read, and the deadlines of what they might be saying stand still.
    bool blocked() const { return blocked_; }
    void block(const TurnTime& at) {
        if (blocked_) return;
        blocked_ = true;
        blocked_since_ = at.running;
        unheard_told_ = at.running;
        figures.blocked.add();
    }
    void unblock(const TurnTime& at) {
        if (!blocked_) return;
        blocked_ = false;
        blocked_before_ += at.running - blocked_since_;
        figures.blocked_ns.add(static_cast<std::uint64_t>((at.running - blocked_since_).count()));
    }

    // True once in each `unheard_after` that the port stands blocked: then the loop is told of the links that wait.
    bool must_tell_unheard(const TurnTime& at) {
        if (!blocked_ || at.running - unheard_told_ < unheard_after) return false;
        unheard_told_ = at.running;
        return true;
    }

    // The turn begins: fixes the two below.
    void begin_turn(const TurnTime& at) {
        const Duration blocked = blocked_before_ + (blocked_ ? at.running - blocked_since_ : Duration::zero());
        read_time_ = at.running - blocked;
        unread_ = blocked + at.gaps;
    }
    // Running time less the time that the port stood blocked.
    Time read_time() const { return read_time_; }
    // Time in which the port was not read: blocked, or the whole process stood still.
    Duration unread() const { return unread_; }

    // Adds this turn's figures to the figures.
    void tell_figures() {
        if (bytes_in != 0) figures.bytes_in.add(std::exchange(bytes_in, 0));
        if (frames_in != 0) figures.frames_in.add(std::exchange(frames_in, 0));
        if (bytes_out != 0) figures.bytes_out.add(std::exchange(bytes_out, 0));
        if (frames_out != 0) figures.frames_out.add(std::exchange(frames_out, 0));
    }

private:
    PortLimits limits_;
    Duration message_cost_{0};
    bool blocked_ = false;
    Time blocked_since_;
    Time unheard_told_;
    Duration blocked_before_{0};
    Time read_time_;
    Duration unread_{0};
};

}  // namespace muster

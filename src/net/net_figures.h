// What the network counts, for the metrics.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "net/accept_refusal.h"
#include "net/close_reason.h"
#include "protocol/link_fault.h"
#include "protocol/port.h"
#include "tls/tls_failure.h"

namespace muster {

// Written by the workers, read by any thread. Each counter is exact; a set of them is not a consistent snapshot.
class Counter {
public:
    void add(std::uint64_t by = 1) { value_.fetch_add(by, std::memory_order_relaxed); }
    void subtract(std::uint64_t by = 1) { value_.fetch_sub(by, std::memory_order_relaxed); }
    std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> value_{0};
};

template <class Enum, std::size_t size>
class CounterPer {
public:
    Counter& operator[](Enum which) { return figures_[static_cast<std::size_t>(which)]; }
    const Counter& operator[](Enum which) const { return figures_[static_cast<std::size_t>(which)]; }

private:
    std::array<Counter, size> figures_;
};

struct PortFigures {
    Counter connections;  // now
    Counter accepted;
    CounterPer<CloseReason, close_reasons.size()> closed;
    CounterPer<AcceptRefusal, accept_refusals.size()> refused;
    CounterPer<LinkFault, link_faults.size()> gave_up;  // links told to the loop for that
    CounterPer<TlsFailure, tls_failures.size()> tls_failed;
    Counter tls_handshakes;  // that were finished
    Counter tls_resumed;     // of those, with a ticket
    Counter frames_in;
    Counter bytes_in;
    Counter frames_out;
    Counter bytes_out;
    Counter rate_limited;   // times a link was paused for sending too fast
    Counter blocked;        // times the port stood unread because its inbox was full
    Counter blocked_ns;     // for how long, added up over the workers
    Counter accept_errors;  // accepting failed for want of files or memory
};

struct NetFigures {
    std::array<PortFigures, ports.size()> by_port;
    Counter stale_replies;  // for a connection that was gone
    Counter gaps;           // times a worker found that the process had stood still (L-8)

    PortFigures& of(Port port) { return by_port[static_cast<std::size_t>(port)]; }
    const PortFigures& of(Port port) const { return by_port[static_cast<std::size_t>(port)]; }
};

}  // namespace muster

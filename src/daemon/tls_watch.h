// The certificates and tickets of this process: read at the start and on a reload, looked after meanwhile.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/time.h"
#include "config/config.h"
#include "daemon/ticket_file.h"
#include "daemon/tls_ports.h"
#include "http/health.h"
#include "http/metrics_text.h"

namespace muster {

// One thread, unless a line says otherwise. What it is given outlives it.
class TlsWatch {
public:
    TlsWatch(const Clock& clock, Log& log, TicketFile& tickets, Health& health)
        : clock_(clock), log_(log), tickets_(tickets), health_(health) {}

    // Throws TlsError.
    void read(const Config& config);
    const TlsPorts& ports() const { return ports_; }

    // Once a second or so: what an operator should know, and new keys for tickets.
    void look();

    // Why a daemon would not start with that config; nothing when it would.
    std::optional<std::string> problem_at_start(const Config& config) const;

    // The files may hold something new although the config is the same; `changes` says what. Why not; nothing when it
    // was done.
    std::optional<std::string> take_new(const Config& config, std::vector<std::string>& changes);

    // Any thread.
    Metric expiry() const;

private:
    void warn();
    void warn_of_certificate();
    void warn_of_tickets(const std::string& warning);
    void publish() { expires_.store(ports_.expires(), std::memory_order_relaxed); }
    std::int64_t wall_seconds() const { return clock_.wall().value / 1'000; }

    const Clock& clock_;
    Log& log_;
    TicketFile& tickets_;
    Health& health_;
    TlsPorts ports_;
    Time looked_at_{};
    std::atomic<std::int64_t> expires_{0};  // any thread: seconds since 1970; 0: no TLS
};

}  // namespace muster

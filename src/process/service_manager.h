// What systemd is told of us: ready, busy with what, still turning, stopping.
#pragma once

#include <optional>
#include <string_view>

#include "base/time.h"

namespace muster {

// Speaks to the socket that NOTIFY_SOCKET names; without one every call does nothing. One thread at a time.
class ServiceManager {
public:
    // What `systemctl status` shows beside it is `status`.
    void ready(std::string_view status);
    void status(std::string_view text);
    // Between the two, systemd waits for the reload to end.
    void reloading(Time now);
    void reloaded(std::string_view status) { ready(status); }
    void stopping();

    // How often systemd must hear ping() at least, or it restarts us; none when it does not watch. A third of it is a
    // good interval.
    std::optional<Duration> watchdog_interval() const;
    void ping();
};

}  // namespace muster

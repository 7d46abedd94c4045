// Connections that a limit turned away: told with the key to change, so that a peer's operator finds why.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ip_address.h"
#include "base/log.h"
#include "base/time.h"
#include "config/config.h"
#include "http/health.h"
#include "net/accept_refusal.h"
#include "net/network.h"
#include "protocol/port.h"

namespace muster {

// One thread.
class RefusedConnections {
public:
    // While it goes on it is told once in so long.
    static constexpr Duration told_every = std::chrono::minutes(1);
    // An operator is shown what was refused within the last so long.
    static constexpr Duration shown_for = std::chrono::minutes(2);

    // How many were refused at the port for that reason since the start, and who was last.
    struct Count {
        Port port = Port::servers;
        AcceptRefusal why = AcceptRefusal::per_ip;
        std::uint64_t total = 0;
        IpAddress last;
    };

    // Sentences for the log. The first refusal is told at once.
    std::vector<std::string> look(Time now, const std::vector<Count>& counts, const Config& config);

    // The same of what the network counts, told to the log and to the operators.
    void look_at(const Network& network, const Config& config, Time now, Log& log, Health& health);

    // What an operator should know now; empty when there is nothing. Those that came too fast come again by themselves.
    std::string warning(Time now) const;

private:
    struct Kind {
        std::uint64_t seen = 0;
        std::uint64_t told = 0;
        std::optional<Time> told_at{};
        std::optional<Time> seen_at{};
        std::string sentence{};
    };
    std::array<std::array<Kind, accept_refusals.size()>, ports.size()> kinds_;
};

}  // namespace muster

// Registrations that were refused, of game servers and of matchmakers: counted, told within limits, and remembered for
// as long as it goes on.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/ids.h"
#include "base/ip_address.h"
#include "base/log.h"
#include "base/time.h"
#include "core/region.h"
#include "protocol/error_texts.h"
#include "protocol/port.h"
#include "runtime/events.h"

namespace muster {

// Game thread only.
//
// Whatever comes, at most `told_max` of them a minute become a log line and an event: the first of each address and
// reason, with how many there were since that was last told.
class RefusedRegistrations {
public:
    static constexpr std::chrono::minutes window{1};
    static constexpr std::size_t told_max = 20;
    // Addresses and reasons that are remembered; further ones are counted only.
    static constexpr std::size_t sources_max = 1024;

    struct Attempt {
        Port port = Port::servers;  // or that of matchmakers
        IpAddress peer;
        std::string claimed;  // the endpoint of a game server, the id of a matchmaker: as it was sent
        RegionId region;      // of a game server
        Refusal why = Refusal::invalid_token;
    };

    // All outlive it. The log names the regions.
    RefusedRegistrations(Events& events, Log& log, const Regions& regions)
        : events_(events), log_(log), regions_(regions) {}

    void note(Time now, const Attempt& attempt);

    // Since the start. Calls visit(port, reason, count) for each reason that there is, or may be.
    template <class Visit>
    void for_each_total(Visit visit) const {
        for (const auto& [key, count] : totals_) visit(key.first, key.second, count);
    }

    // Of the last one to two minutes; none when there was none.
    struct Recent {
        std::uint64_t count = 0;
        Refusal most = Refusal::invalid_token;  // the reason of most of them
        IpAddress last;                         // who was refused last
    };
    std::optional<Recent> recent(Time now, Port port) const;

private:
    using Kind = std::pair<Port, Refusal>;
    using Counts = std::map<Kind, std::uint64_t>;
    struct Source {
        IpAddress network;
        Kind kind;
        friend auto operator<=>(const Source&, const Source&) = default;
    };
    struct Untold {
        std::uint64_t count = 0;
        bool told = false;   // in this window
        bool heard = false;  // in this window
    };

    void begin_window(Time now);
    void tell(const Attempt& attempt, std::uint64_t count);

    Events& events_;
    Log& log_;
    const Regions& regions_;
    Counts totals_ = may_be();
    static Counts may_be();

    Time since_{};  // when this window began
    Counts now_;
    Counts before_;  // of the window before
    std::map<Port, IpAddress> last_;
    std::size_t told_ = 0;
    std::map<Source, Untold> sources_;
};

}  // namespace muster

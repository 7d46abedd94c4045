// Where the loop's messages come from: one source per port or queue (B-1).
#pragma once

#include <cstddef>
#include <string_view>

#include "runtime/pass.h"

namespace muster {

// Loop thread only, but for depth(). The loop may catch what any of these throws; it counts that and goes on.
class MessageSource {
public:
    virtual ~MessageSource() = default;

    // For logs and metrics; the same for the source's whole life.
    virtual std::string_view name() const = 0;

    // Brings in what producers pushed until now; true when there is something to handle. Called once a pass, so that a
    // flood cannot hold the pass: what comes later waits for the next.
    virtual bool refill() = 0;

    // Handles one message; false when none is left. A message whose handler throws counts as handled: the source is
    // already past it.
    virtual bool handle_next(const Pass& pass) = 0;

    // The kind of the message handled last, for the warning about a slow handler.
    virtual std::string_view last_handled() const = 0;

    // Messages that wait now. Any thread.
    virtual std::size_t depth() const = 0;

    // After a late wake-up, before any deadline is judged: fetch what lies in the sockets already.
    virtual void catch_up() {}
};

}  // namespace muster

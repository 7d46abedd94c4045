// One HTTP connection of a loopback port: requests one after another, or an answer that goes on. Only the server uses
// it.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "base/time.h"
#include "loopback/loopback_message.h"
#include "loopback/loopback_server.h"

namespace boost::asio {
class io_context;
}

namespace muster {

// What all connections of one port share. Loopback thread only.
struct LoopbackShared {
    const Clock& clock;
    Log& log;
    LoopbackLimits limits;
    std::shared_ptr<LoopbackHandler> handler;
    Pace pace;
};

// Loopback thread only.
class LoopbackConnection {
public:
    virtual ~LoopbackConnection() = default;

    // Takes over the connected socket `fd`. `on_end` is called once, when it is over.
    static std::shared_ptr<LoopbackConnection> make(boost::asio::io_context& context, int fd, bool is_v4,
                                                    std::shared_ptr<LoopbackShared> shared,
                                                    std::function<void(LoopbackConnection*)> on_end);
    virtual void serve() = 0;
    virtual void cut() = 0;
    // Since when it has been waiting for a request; none when it is busy.
    virtual std::optional<Time> idle_since() const = 0;
};

}  // namespace muster

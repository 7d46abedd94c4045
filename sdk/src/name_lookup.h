// Looks a name up on a thread of its own, since nobody can say how long that takes.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "sdk/src/tcp_address.h"
#include "sdk/src/wake_pipe.h"

namespace muster::sdk {

class NameLookup {
public:
    // A literal is there at once. `wake` is woken when a name is. Throws std::system_error when there can be no thread.
    NameLookup(const TcpAddress& address, std::shared_ptr<const WakePipe> wake);

    // Nothing until it is known; then what was found, which may be empty.
    std::optional<std::vector<SocketAddress>> found() const;

private:
    struct Shared;
    std::shared_ptr<Shared> shared_;  // with the thread, which may outlive us
};

}  // namespace muster::sdk

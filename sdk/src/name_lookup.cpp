#include "sdk/src/name_lookup.h"

#include <mutex>
#include <thread>
#include <utility>

namespace muster::sdk {

struct NameLookup::Shared {
    std::mutex mutex;
    std::optional<std::vector<SocketAddress>> found;  // guarded by mutex
};

NameLookup::NameLookup(const TcpAddress& address, std::shared_ptr<const WakePipe> wake)
    : shared_(std::make_shared<Shared>()) {
    auto literals = literal_addresses(address);
    if (!literals.empty()) {
        shared_->found = std::move(literals);
        return;
    }
    // Detached: the system's resolver cannot be told to stop, and stopping the runner does not wait for it.
    std::thread([shared = shared_, address, wake = std::move(wake)] {
        auto found = look_up(address);
        {
            const std::lock_guard lock(shared->mutex);
            shared->found = std::move(found);
        }
        wake->wake();
    }).detach();
}

std::optional<std::vector<SocketAddress>> NameLookup::found() const {
    const std::lock_guard lock(shared_->mutex);
    return shared_->found;
}

}  // namespace muster::sdk

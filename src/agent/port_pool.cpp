#include "agent/port_pool.h"

namespace muster {

std::optional<std::uint16_t> PortPool::take() {
    for (std::size_t tried = 0; tried < range_.size(); ++tried) {
        const std::uint16_t port = next_;
        next_ = port == range_.last ? range_.first : static_cast<std::uint16_t>(port + 1);
        if (taken_.insert(port).second) return port;
    }
    return std::nullopt;
}

void PortPool::set_range(PortRange range) {
    range_ = range;
    if (!range_.holds(next_)) next_ = range_.first;
}

}  // namespace muster

// The limits of all ports, which may change while the workers run.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "net/limits.h"
#include "protocol/port.h"

namespace muster {

// Any thread. A worker looks at the version each turn, and takes a copy when it changed.
class SharedLimits {
public:
    void set(Port port, const PortLimits& limits) {
        const std::lock_guard lock(mutex_);
        by_port_[static_cast<std::size_t>(port)] = limits;
        version_.fetch_add(1, std::memory_order_release);
    }
    PortLimits of(Port port) const {
        const std::lock_guard lock(mutex_);
        return by_port_[static_cast<std::size_t>(port)];
    }
    std::uint64_t version() const { return version_.load(std::memory_order_acquire); }

private:
    std::atomic<std::uint64_t> version_{0};
    mutable std::mutex mutex_;
    std::array<PortLimits, ports.size()> by_port_{default_limits(Port::servers), default_limits(Port::matchmakers),
                                                  default_limits(Port::players)};  // guarded by mutex_
};

}  // namespace muster

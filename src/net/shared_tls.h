// The TLS contexts of all ports, which may change while the workers run.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "protocol/port.h"
#include "tls/tls_context.h"

namespace muster {

// Any thread. A port has TLS, or has none, from the start on; what changes is its context. A worker looks at the
// version each turn, and takes the new contexts when it changed.
class SharedTls {
public:
    void set(Port port, std::shared_ptr<const TlsServerContext> context) {
        const std::lock_guard lock(mutex_);
        by_port_[static_cast<std::size_t>(port)] = std::move(context);
        version_.fetch_add(1, std::memory_order_release);
    }
    // Null: the port has none.
    std::shared_ptr<const TlsServerContext> of(Port port) const {
        const std::lock_guard lock(mutex_);
        return by_port_[static_cast<std::size_t>(port)];
    }
    std::uint64_t version() const { return version_.load(std::memory_order_acquire); }

private:
    std::atomic<std::uint64_t> version_{0};
    mutable std::mutex mutex_;
    std::array<std::shared_ptr<const TlsServerContext>, ports.size()> by_port_;  // guarded by mutex_
};

}  // namespace muster

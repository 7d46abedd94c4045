// Liveness and readiness of the daemon (O-2).
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "http/routes.h"

namespace muster {

// Any thread may call it. The clock outlives it.
class Health {
public:
    // A loop that has not made a pass for this long hangs. It must make passes more often, even when idle.
    static constexpr std::chrono::seconds silence_max{5};

    enum class Phase : std::uint8_t { starting, standing_by, recovering, ready, draining };

    explicit Health(const Clock& clock) : clock_(clock) {}

    // The game thread, once a pass.
    void loop_turned(Time now) { turned_at_.store(now.time_since_epoch().count(), std::memory_order_relaxed); }

    void set_phase(Phase phase) { phase_.store(phase, std::memory_order_release); }
    // Another node works, or none can: `why` in a few words. One that relays its peers to the owner is ready for them.
    void set_standing_by(std::string why, bool relays = false);
    void set_store_up(bool up) { store_up_.store(up, std::memory_order_release); }
    // The store's file was deleted or replaced while we run.
    void set_store_misplaced(bool misplaced) { store_misplaced_.store(misplaced, std::memory_order_release); }

    // What an operator should know of the TLS certificate (S-3); empty when there is nothing.
    void set_certificate_warning(std::string warning);
    std::string certificate_warning() const;
    // The same of connections that a limit turns away.
    void set_refusal_warning(std::string warning);
    std::string refusal_warning() const;

    // Why not; none when all is well. A loop that has not begun to turn is not hanging.
    std::optional<std::string> hang() const;
    std::optional<std::string> unreadiness() const;

private:
    static constexpr Duration::rep not_yet = Duration::rep{-1};

    const Clock& clock_;
    std::atomic<Duration::rep> turned_at_{not_yet};
    std::atomic<Phase> phase_{Phase::starting};
    std::atomic<bool> store_up_{true};
    std::atomic<bool> store_misplaced_{false};
    mutable std::mutex mutex_;
    std::string standing_by_;          // guarded by mutex_
    bool relays_ = false;              // guarded by mutex_
    std::string certificate_warning_;  // guarded by mutex_
    std::string refusal_warning_;      // guarded by mutex_
};

// Whether this path is one of those below.
bool is_probe(std::string_view path);

// GET /healthz and /readyz: 200, or 503 with the reason.
void add_health_routes(Routes& routes, const Health& health);

}  // namespace muster

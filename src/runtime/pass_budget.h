// What a phase of a pass may still do, and which handler took longest (L-4).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"

namespace muster {

// What the loop calls: each kind's failures are counted apart.
enum class HandlerKind : std::uint8_t { message, timer, event, update, flush, gap };
inline constexpr std::size_t handler_kinds = 6;

std::string_view to_string(HandlerKind kind);

struct SlowestHandler {
    HandlerKind kind = HandlerKind::message;
    std::string name;
    Duration took{0};
};

// How far a phase may go: `most` handlers, and none begins once `until` has come, except that the first `least` always
// may, so that every phase gets on in every pass.
struct PhaseLimit {
    std::size_t most = 0;
    std::size_t least = 0;
    Time until;
};

// Reads the clock once per handler: the end of one is the start of the next. Loop thread only.
class PassBudget {
public:
    // The clock outlives the budget.
    explicit PassBudget(const Clock& clock) : clock_(clock) {}

    void begin_pass(Time now);
    void begin_phase(const PhaseLimit& limit);

    // Whether the phase may begin another handler.
    bool allows() const { return used_ < limit_.most && (used_ < limit_.least || latest_ < limit_.until); }

    // A handler ended. `name()` is asked only when none took longer in this pass; it returns a text.
    template <class Name>
    void ended(HandlerKind kind, Name name) {
        const Time now = clock_.now();
        const Duration took = now - latest_;
        latest_ = now;
        ++used_;
        if (took <= slowest_.took) return;
        slowest_.kind = kind;
        slowest_.took = took;
        slowest_.name = name();
    }

    // Handlers that ended in this phase.
    std::size_t used() const { return used_; }
    // When the latest handler ended, or the pass began.
    Time latest() const { return latest_; }
    const SlowestHandler& slowest() const { return slowest_; }

private:
    const Clock& clock_;
    PhaseLimit limit_;
    std::size_t used_ = 0;
    Time latest_;
    SlowestHandler slowest_;
};

}  // namespace muster

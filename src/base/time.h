// Time as Muster speaks of it: monotonic points for every deadline, Unix milliseconds only where a peer or a person
// reads them.
#pragma once

#include <chrono>
#include <cstdint>

namespace muster {

using Duration = std::chrono::nanoseconds;

// Names the time line that `Time` lives on. It has no now(): a clock is always passed in.
struct Monotonic {
    using rep = Duration::rep;
    using period = Duration::period;
    using duration = Duration;
    using time_point = std::chrono::time_point<Monotonic, Duration>;
    static constexpr bool is_steady = true;
};

// A point in monotonic time. Only differences mean anything.
using Time = Monotonic::time_point;

// Milliseconds since 1970 UTC, as they go on the wire and into the store.
struct UnixMs {
    std::int64_t value = 0;
    friend constexpr auto operator<=>(const UnixMs&, const UnixMs&) = default;
};

// Where time comes from. The daemon passes SystemClock; tests and the simulator pass VirtualClock.
// Any thread may call it.
class Clock {
public:
    virtual ~Clock() = default;
    // Never goes backwards.
    virtual Time now() const = 0;
    // What the machine believes the date is; it may step either way (see IssuedTime).
    virtual UnixMs wall() const = 0;
    // CPU time that the calling thread has used; only differences mean anything. The default counts all elapsed time as
    // CPU time.
    virtual Duration thread_cpu() const { return now().time_since_epoch(); }
};

constexpr double to_seconds(Duration d) {
    return std::chrono::duration<double>(d).count();
}
constexpr double to_milliseconds(Duration d) {
    return std::chrono::duration<double, std::milli>(d).count();
}

}  // namespace muster

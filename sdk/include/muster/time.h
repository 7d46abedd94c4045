// Time as the clients take it. None of them reads a clock: every call that needs the time is given it.
#pragma once

#include <chrono>

namespace muster::sdk {

// Monotonic time. Only differences matter, so a game may pass its own time line, as long as it never goes backwards.
using Time = std::chrono::steady_clock::time_point;
using Duration = std::chrono::steady_clock::duration;

// A date, as Muster or this machine sees it.
using UnixTime = std::chrono::sys_time<std::chrono::microseconds>;

}  // namespace muster::sdk

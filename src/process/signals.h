// The signals that an operator steers the daemon with, taken by the one thread that waits for them.
#pragma once

#include <csignal>
#include <cstdint>
#include <optional>

#include "base/time.h"

namespace muster {

enum class Signal : std::uint8_t { stop, reload };

// Before anything else of a process that takes SIGHUP as a wish to reload: one that comes while it starts waits for
// wait() below, or a file of signals. Children inherit it until they run their own program.
void hold_reload();
// Undone: SIGHUP ends the process, also one that has waited.
void release_reload();

// Make it before any other thread starts: they inherit that these signals are not for them. A broken pipe and a
// file at its size limit (ulimit -f) are error codes in the whole process from then on.
class Signals {
public:
    Signals();
    // Forgets those that wait; then the signals have their former meaning again.
    ~Signals();
    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;

    // SIGTERM, SIGINT and SIGQUIT stop, SIGHUP reloads. None when `at_most` has passed without any. Only on the thread
    // that made it.
    std::optional<Signal> wait(Duration at_most);

private:
    sigset_t ours_{};
    sigset_t before_{};
};

}  // namespace muster

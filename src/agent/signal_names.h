// Signals by name, as the config and people write them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/process.h"

namespace muster {

// "SIGTERM"; none for what is no name of a signal that a process may be stopped with.
std::optional<int> stop_signal_named(std::string_view name);
// In the order they are told.
std::vector<std::string> stop_signal_names();

// "SIGSEGV", or "SIG 77" for one without a name.
std::string signal_name(int signal);

// "exit code 3", "signal 11 (SIGSEGV)", "exit status unknown".
std::string to_text(const ExitStatus& status);

}  // namespace muster

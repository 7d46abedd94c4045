// The keeper: a small process that starts the processes of this host for its agent, and outlives it.
//
// The system tells how a process ended to its parent only. So the parent of all processes is not the agent, which may
// die or be upgraded, but this: it waits for them, and writes how each ended beside its record. There is one for each
// agent that has started something; it ends when its agent is gone and the last of its processes has ended.
#pragma once

#include <string_view>

#include "net/file_descriptor.h"

namespace muster {

// The name that the program is started by to be one.
inline constexpr const char* keeper_name = "muster-keeper";

// Whether that is what this process was started for.
bool is_keeper(int argc, const char* const* argv);
// With the agent at standard input.
int run_keeper();

// All it does, until it is over. One thread.
void keep_processes(FileDescriptor agent);

}  // namespace muster

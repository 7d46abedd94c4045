// `muster protocol`: the messages of the game ports, byte by byte.
#pragma once

namespace muster {

// Returns the exit code.
int protocol_command();

}  // namespace muster

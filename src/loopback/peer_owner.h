// Which user's process is at the other end of a TCP connection within this machine.
#pragma once

#include <sys/types.h>

#include <optional>

namespace muster {

// Asks the kernel (sock_diag) for the socket that `fd` is connected to. None when it is not of this machine, is gone
// already, or the kernel does not say.
std::optional<uid_t> peer_owner(int fd);

}  // namespace muster

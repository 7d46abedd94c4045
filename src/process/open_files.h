// How many files this process may have open at a time; each connection takes one.
#pragma once

#include <cstddef>

namespace muster {

// Raises the soft limit (RLIMIT_NOFILE) to the hard one, and returns the limit that holds from now on. Where the system
// refuses, the old limit stays.
std::size_t raise_open_files_limit();

}  // namespace muster

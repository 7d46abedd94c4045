// Counts what a test takes from the heap, to show that warm code takes nothing.
#pragma once

#include <cstdint>

namespace muster {

// Calls of operator new by this thread so far. Works under the sanitizers too.
std::uint64_t allocations();

}  // namespace muster

// Bugs put back on purpose, so that the finders can show that they see them (docs/ZOO.md).
//
// Only a build with MUSTER_ZOO has them. There the environment variable MUSTER_PLANTED_BUG names the one that is live;
// without it none is, and a name that is no bug's ends the program at its start with 64. In any other build planted()
// is constantly false, and the compiler drops what stands behind it.
#pragma once

#include <cstdint>

namespace muster {

enum class Bug : std::uint8_t {
    none,
#define MUSTER_BUG(name, breaks, wrong) name,
#include "base/planted_bugs.inc"
#undef MUSTER_BUG
};

#ifdef MUSTER_ZOO
// Whether the bug is the one that is live. Any thread.
bool planted(Bug bug);
#else
constexpr bool planted(Bug) {
    return false;
}
#endif

}  // namespace muster

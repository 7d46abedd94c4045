// A core dump would write our secrets to the disk (fault 69).
#pragma once

namespace muster {

// No core dumps of this process from now on, and no other process of the same user may look into its memory.
void disable_core_dumps();

}  // namespace muster

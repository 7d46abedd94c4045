// Ways to break the protocol of nodes on purpose, so that each judge is seen to object.
#pragma once

#include <cstdint>

namespace muster::nodesim {

enum class Sabotage : std::uint8_t {
    none,
    no_fence,              // a batch is taken whatever the row says
    settles_by_read,       // an unknown outcome is looked up instead of written for
    takes_late_batch,      // a batch that arrives after its outcome was settled is written
    ignores_warning,       // a commit that no standby confirmed counts
    ignores_take_warning,  // the same, of taking a cell
    compares_clocks,       // the owner is silent by the time that it wrote down
    hands_over_early,      // the last batches are answered and not written
    answers_late,          // promises do not wait for the window
    leaves_lock,           // the connection of a silent owner is left alone
};

}  // namespace muster::nodesim

// Ways to break the agent on purpose, so that each judge is seen to object.
#pragma once

#include <cstdint>

namespace muster::hostsim {

enum class Sabotage : std::uint8_t {
    none,
    ends_survivors,        // a new agent ends what runs instead of adopting it
    forgets_matches,       // a new agent adopts processes without their matches
    ignores_unowned,       // what has no record runs on
    leaves_children,       // a process is killed alone
    one_port_for_all,      // every process gets the first port
    starts_twice,          // each start makes two processes
    never_starts_again,    // what has ended stays so
    starts_at_once,        // no pause after a failure
    forgets_pauses,        // a new agent starts at once what had crashed
    thinks_well_of_exits,  // whose end it did not see has ended well
    keeps_dead_matches,    // Muster does not hear how matches of dead processes end
    ends_gently_only,      // no SIGKILL follows the stop signal
};

}  // namespace muster::hostsim

// When something happened, on both time lines.
#pragma once

#include "base/time.h"

namespace muster {

struct Moment {
    Time now{};     // for deadlines
    UnixMs wall{};  // for people, and for the next agent
};

}  // namespace muster

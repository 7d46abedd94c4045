// The machine's own clocks. Made once at the program's entry and passed down.
#pragma once

#include "base/time.h"

namespace muster {

class SystemClock final : public Clock {
public:
    Time now() const override;
    UnixMs wall() const override;
    Duration thread_cpu() const override;
};

}  // namespace muster

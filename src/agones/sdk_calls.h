// How the servers of the Agones SDK, REST and gRPC, reach the session of a process.
#pragma once

#include <memory>

#include "agones/calls.h"
#include "agones/watch.h"

namespace muster::agones {

// Any thread.
class SdkCalls {
public:
    virtual ~SdkCalls() = default;
    // Unavailable once the process has ended.
    virtual Reply call(const Call& call) = 0;
    // The present object waits in it already. Refused when there are too many, or the process has ended.
    virtual Result<std::shared_ptr<Watch>, Refused> watch() = 0;
};

}  // namespace muster::agones

// The gRPC side of the Agones SDK server, which is a module of its own: only an agent that needs it loads it.
//
// gRPC and what it needs are some thirty shared libraries. Nothing here names any of them.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "agones/sdk_calls.h"
#include "base/result.h"
#include "base/time.h"

namespace muster::agones {

// Serves the connections of one process. Ends them all when it goes.
class GrpcPort {
public:
    virtual ~GrpcPort() = default;
    // Takes over a connected, non-blocking socket. Any thread.
    virtual void take(int fd) = 0;
};

class GrpcDoor {
public:
    virtual ~GrpcDoor() = default;
    virtual std::unique_ptr<GrpcPort> open(std::shared_ptr<SdkCalls> calls) = 0;
};

// What the module is loaded for: `extern "C" GrpcDoor* muster_agones_grpc_door()`, never freed.
inline constexpr const char* grpc_door_symbol = "muster_agones_grpc_door";

// Loads libmuster-agones.so from beside the program or from ../lib/muster. Once it is loaded it stays. Fails with a
// sentence.
Result<GrpcDoor*, std::string> load_grpc_door();

}  // namespace muster::agones

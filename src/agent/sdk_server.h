// The servers of other SDKs, for the processes of runs that say `sdk = "agones"` or `"gsdk"`.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/agent_config.h"
#include "agent/process.h"
#include "agent/sdk_side.h"
#include "agent/state_folder.h"
#include "agones/grpc_door.h"
#include "base/entropy.h"
#include "base/log.h"
#include "base/time.h"
#include "loopback/loopback_server.h"

namespace muster {

// The agent's thread only. Costs nothing, neither a thread nor a library, until the first process needs it.
class SdkServer {
public:
    struct Options {
        std::string host;
        std::string address;  // where players reach this host
        RegionId region{};
    };

    // `wake` is called on any thread when a side has something to take. All that is given outlives it, and it outlives
    // the sides that it makes.
    SdkServer(Options options, const StateFolder& folder, const Clock& clock, Log& log, std::function<void()> wake);

    // The side of a process that is about to start or was adopted; none when its SDK needs none.
    std::unique_ptr<SdkSide> make(const Process& process);

private:
    std::unique_ptr<SdkSide> make_agones(const Process& process);
    std::unique_ptr<SdkSide> make_gsdk(const Process& process);
    LoopbackServer& loopback();
    agones::GrpcDoor* grpc();

    const Options options_;
    const StateFolder& folder_;
    const Clock& clock_;
    Log& log_;
    const std::function<void()> wake_;
    SystemEntropy entropy_;
    std::unique_ptr<LoopbackServer> loopback_;
    std::optional<agones::GrpcDoor*> grpc_;  // once it was asked for; null: there is none
};

}  // namespace muster

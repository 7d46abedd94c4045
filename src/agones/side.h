// `sdk = "agones"`: the ports of one process, and its session behind them (G-20, G-21).
#pragma once

#include <functional>
#include <memory>

#include "agent/session_side.h"
#include "agones/grpc_door.h"
#include "agones/session.h"
#include "base/entropy.h"
#include "base/log.h"
#include "base/time.h"
#include "loopback/loopback_server.h"

namespace muster::agones {
class Served;
}
extern template class muster::SessionSide<muster::agones::Served>;

namespace muster::agones {

// What the sides of all processes share; all of it outlives them.
struct Services {
    LoopbackServer& loopback;
    GrpcDoor* grpc = nullptr;  // none: REST alone is served
    const Clock& clock;
    Entropy& entropy;
    Log& log;
    std::function<void()> wake;  // there are new facts; called on any thread
};

// Each life has two ports on loopback, in AGONES_SDK_HTTP_PORT and AGONES_SDK_GRPC_PORT. When they cannot be opened,
// the process is told to be unhealthy, with the reason.
class Side final : public SessionSide<Served> {
public:
    Side(Process process, const Services& services);
    ~Side() override;

    std::vector<EnvironmentEntry> begin_life(Time now, std::string_view life) override;
    void offer(Time now, const SdkMatch& match) override;
    void abort(Time now, LobbyId lobby, std::string_view reason) override;
    std::uint64_t revision() const override;
    bool take_urgent() override;

    // Where players reach it, once that is known.
    void set_address(std::string address, std::uint16_t port);

private:
    void open(std::uint16_t http_port, std::uint16_t grpc_port);
    void close() override;
    boost::json::object place() const override;
    bool go_on(Time now, const boost::json::object& place, std::string_view saved) override;

    Process process_;
    const Services services_;
    std::shared_ptr<GrpcPort> grpc_;
    std::unique_ptr<LoopbackPort> http_port_;
    std::unique_ptr<LoopbackPort> grpc_port_;
};

}  // namespace muster::agones

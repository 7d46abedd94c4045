// `sdk = "gsdk"`: the port of one process, its config file, and its session behind them (G-30, G-31).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "agent/session_side.h"
#include "base/entropy.h"
#include "base/log.h"
#include "base/time.h"
#include "gsdk/session.h"
#include "loopback/loopback_server.h"

namespace muster::gsdk {
class Served;
}
extern template class muster::SessionSide<muster::gsdk::Served>;

namespace muster::gsdk {

// What the sides of all processes share; all of it outlives them.
struct Services {
    LoopbackServer& loopback;
    const Clock& clock;
    Entropy& entropy;
    Log& log;
    std::function<void()> wake;  // there are new facts; called on any thread
};

// Which process it is, for its config file and environment.
struct Place {
    std::string host{};
    std::string run{};
    std::string process{};
    std::string region{};
    std::string address{};
    std::uint16_t port = 0;
    int instance_number = 0;
    std::string folder{};      // where its config file goes; the agent's own, readable by nobody else
    std::string log_folder{};  // where the process may write
};

// Each life has a port on loopback and an id that nobody guesses: who does not know it is answered 404. When the port
// or the file cannot be made, the process is told to be unhealthy, with the reason.
class Side final : public SessionSide<Served> {
public:
    Side(Process process, Place place, const Services& services);
    ~Side() override;

    std::vector<EnvironmentEntry> begin_life(Time now, std::string_view life) override;
    void end_life(Time now) override;
    void offer(Time now, const SdkMatch& match) override;
    void set_players(LobbyId lobby, const std::vector<AccountId>& accounts) override;
    void abort(Time now, LobbyId lobby, std::string_view reason) override;

    // Where players reach it, once that is known: for the lives that begin from now on.
    void set_address(std::string address, std::uint16_t port);

private:
    void open(std::uint16_t port);
    void close() override;
    boost::json::object place() const override;
    bool go_on(Time now, const boost::json::object& place, std::string_view saved) override;
    std::string config_path() const;

    Process process_;
    Place place_;
    const Services services_;
    std::unique_ptr<LoopbackPort> port_;
};

}  // namespace muster::gsdk

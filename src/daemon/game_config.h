// What the config means to core, to the loop and to the network.
#pragma once

#include <string>
#include <vector>

#include "base/ip_range.h"
#include "config/config.h"
#include "core/core.h"
#include "daemon/tls_ports.h"
#include "net/network.h"
#include "runtime/game_loop.h"

namespace muster {

// Of texts that the config has judged.
std::vector<IpRange> ranges_of(const std::vector<std::string>& texts);

// Of one of the planned cells; empty: of the only one.
CoreConfig core_config_of(const Config& config, const std::string& cell = {});
LoopConfig loop_config_of(const Config& config);
PortLimits port_limits_of(const Config& config, Port port);
// `connections_max` is what the process may have open of them. The log, which outlives the network, is told of peers
// that are refused for their TLS.
NetworkConfig network_config_of(const Config& config, const TlsPorts& tls, std::size_t connections_max, Log& log);
// What of it a reload may change. Any thread.
void configure_network(Network& network, const Config& config, const TlsPorts& tls);

}  // namespace muster

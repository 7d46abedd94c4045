// What the config means to core, to the loop and to the network.
#pragma once

#include "core/core.h"
#include "config/config.h"
#include "net/network.h"
#include "runtime/game_loop.h"

namespace muster {

CoreConfig core_config_of(const Config& config);
LoopConfig loop_config_of(const Config& config);
PortLimits port_limits_of(const Config& config, Port port);
NetworkConfig network_config_of(const Config& config);

}  // namespace muster

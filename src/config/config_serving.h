// Whether a config is safe to serve with: what stands open to the network needs its secret.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"

namespace muster {

// Why `muster serve` must refuse this config, each naming its key; empty when it may run.
std::vector<std::string> problems_of_serving(const Config& config);

// What an operator should know before serving with it.
std::vector<std::string> warnings_of_serving(const Config& config);

// How players are let in: without a player_key, credentials act as open.
Credentials effective_credentials(const Config& config);

}  // namespace muster

// SIGHUP: reads the config again, takes over what can change in a running daemon, and says what cannot.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "config/config_load.h"

namespace muster {

struct ConfigReload {
    Config config;                        // the running one with every change that takes effect now
    std::vector<std::string> now;         // "fleet.heartbeat_timeout: \"30s\" -> \"3s\""; a secret only says it changed
    std::vector<std::string> at_restart;  // the same, for what waits for a restart
    std::vector<std::string> warnings;
    Config at_next_start;  // what was read, whole
};

// What a change from `running` to `wanted` comes to.
ConfigReload merge_reload(const Config& running, const Config& wanted);

// Reads `source` again. Fails with what is wrong, and then everything stays as it was (fault 17).
Result<ConfigReload, ConfigProblems> reload_config(const Config& running, const ConfigSource& source);

}  // namespace muster

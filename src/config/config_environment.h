// The environment overrides the config file: MUSTER_FLEET_HEARTBEAT_TIMEOUT=3s.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "config/config_draft.h"

namespace muster {

struct EnvironmentVariable {
    std::string_view name;
    std::string_view value;
};

// Views, so that a secret in the environment is not copied about. They live as long as the environment does.
using Environment = std::vector<EnvironmentVariable>;

// The variables of this process.
Environment process_environment();

// Sets every key that a variable names, secrets included. A variable that looks like a key's but is none is a problem;
// MUSTER_URL and MUSTER_ADMIN_TOKEN belong to the tool and are left alone.
void read_environment(const Environment& environment, ConfigDraft& draft);

// Reads each secret that the environment did not give from the file that its _file key names.
void read_secret_files(ConfigDraft& draft);

}  // namespace muster

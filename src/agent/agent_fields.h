// Every key that may stand in the agent's config, declared once.
#pragma once

#include <string>
#include <vector>

#include "agent/agent_config.h"
#include "agent/config_field.h"
#include "agent/run_config.h"

namespace muster {

// The table [auth].
struct AgentAuth {
    std::string server_token_file;
};

const std::vector<ConfigField<AgentConfig>>& agent_fields();
const std::vector<ConfigField<RunConfig>>& run_fields();
const std::vector<ConfigField<AgentAuth>>& auth_fields();

}  // namespace muster

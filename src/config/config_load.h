// From a file and an environment to a config that is whole, or to everything that is wrong with it.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "config/config_draft.h"
#include "config/config_environment.h"

namespace muster {

// Where a config is read from; a reload reads from the same again.
struct ConfigSource {
    std::optional<std::filesystem::path> file;  // none: defaults and the environment only
    Environment environment;
};

struct LoadedConfig {
    Config config;
    ConfigOrigins origins;
    std::vector<std::string> warnings;
};

// One line each, for the operator: `muster.toml:7: fleet.heartbeat_timout: unknown key; did you mean …?`
using ConfigProblems = std::vector<std::string>;

// Reads the file, then the environment over it, then the secrets' files, and checks how the values stand to each other.
// Fails with all that is wrong, up to ConfigDraft::problems_shown_max of them. Never says a secret.
Result<LoadedConfig, ConfigProblems> load_config(const ConfigSource& source);

// The same up to the secrets' files, which `read_secrets` does; the draft has what is wrong and what is doubtful.
ConfigDraft draft_config(const ConfigSource& source,
                         const std::function<void(const Environment&, ConfigDraft&)>& read_secrets);

}  // namespace muster

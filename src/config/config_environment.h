// The environment overrides the config file: MUSTER_LISTEN_HTTP=127.0.0.1:8080.
#pragma once

#include <optional>
#include <span>
#include <string>
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

// The value of a variable; none when there is no such variable, or it is empty.
std::optional<std::string_view> variable_named(const Environment& environment, std::string_view name);

// What these bytes cannot be that secret for, if anything. Never says anything of the bytes themselves.
std::optional<std::string> problem_of_secrets(const SecretKey& type, const Secrets& secrets);

// Refuses a secret that came from the file of its _file key, or from the service's credentials when none is named.
void refuse_secret(const ConfigKey& key, std::string_view what, ConfigDraft& draft);

// Reads each secret that the environment did not give: from the file that its _file key names, or else from the
// service's credentials, the files muster_NAME in $CREDENTIALS_DIRECTORY (systemd.exec(5), LoadCredential=).
void read_secret_files(const Environment& environment, ConfigDraft& draft);

}  // namespace muster

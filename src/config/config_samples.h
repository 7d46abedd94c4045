// Values to try on every key: the ends of what is allowed, and what lies just outside.
#pragma once

#include <string>
#include <vector>

#include "config/config_keys.h"

namespace muster {

struct ConfigSamples {
    std::vector<std::string> good;  // as TOML
    std::vector<std::string> bad;
};

// As TOML. None for a secret, which the file may not hold.
ConfigSamples samples_of(const ConfigKey& key);

// The same text as the environment would hold it: without the quotes of a string.
std::string as_environment_text(const std::string& toml);

}  // namespace muster

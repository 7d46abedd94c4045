// The config as text: the effective one with where each value came from, the default file, the reference for the docs.
#pragma once

#include <string>

#include "config/config_load.h"

namespace muster {

// A valid file that gives the same config again. Each value says where it came from; a secret only whether it is set.
std::string effective_config_text(const LoadedConfig& loaded);

// {"fleet":{"heartbeat_timeout":{"value":"30s","from":"default"},…},…}; a secret has "set" in the place of its value.
std::string effective_config_json(const LoadedConfig& loaded);

// A valid file with every key at its default and a comment on each.
std::string default_config_text();

// A Markdown table of every key.
std::string config_reference();

}  // namespace muster

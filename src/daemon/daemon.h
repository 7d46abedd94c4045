// The whole daemon: builds every part in order, serves until it is told to stop, and takes it all down again.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "config/config_load.h"

namespace muster {

struct ServeOptions {
    ConfigSource source;                              // read again at SIGHUP
    std::vector<std::string> warnings;                // of the config, for the log
    std::optional<std::filesystem::path> ports_file;  // gets the bound addresses once all ports are open
};

// Runs until SIGTERM or SIGINT. Returns the exit code; a failure to start has been told on standard error by then.
// `config` is one that problems_of_serving() has nothing against.
int run_daemon(const Config& config, const ServeOptions& options);

}  // namespace muster

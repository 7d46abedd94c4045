// How the process's file descriptors are shared among the store, HTTP and the game ports.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "config/config.h"

namespace muster {

struct DescriptorPlan {
    // All connections of the three game ports together.
    std::size_t game_connections = 0;
    std::size_t http_connections = 0;
    // What the operator should know: the config allows more connections than the limit does.
    std::optional<std::string> warning;
};

// `open_files` is the process's limit. Some are kept for Muster's own files (the store, the log, the ports), some for
// operators, and the game ports share the rest.
DescriptorPlan plan_descriptors(const Config& config, std::size_t open_files);

}  // namespace muster

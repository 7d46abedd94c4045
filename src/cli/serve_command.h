// `muster serve`: checks the config and runs the daemon in the foreground.
#pragma once

#include <filesystem>
#include <optional>

namespace muster {

struct ServeArguments {
    std::optional<std::filesystem::path> config;
    std::optional<std::filesystem::path> ports_file;
};

// Returns the exit code.
int serve_command(const ServeArguments& arguments);

}  // namespace muster

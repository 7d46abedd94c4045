// `muster config`: the effective config with where each value came from, or the default file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace muster {

struct ConfigArguments {
    enum class What : std::uint8_t { effective, default_file, reference };
    What what = What::effective;
    std::optional<std::filesystem::path> config;
};

// Returns the exit code.
int config_command(const ConfigArguments& arguments);

}  // namespace muster

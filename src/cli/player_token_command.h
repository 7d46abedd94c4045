// `muster player-token`: makes a signed credential for a player.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace muster {

struct PlayerTokenArguments {
    std::string name;
    std::int64_t account = 0;
    std::string valid_for = "1h";
    std::optional<std::filesystem::path> config;
};

int player_token_command(const PlayerTokenArguments& arguments);

}  // namespace muster

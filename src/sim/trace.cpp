#include "sim/trace.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace muster::sim {

void Trace::mix(std::span<const std::byte> bytes) {
    mix(bytes.size());
    while (!bytes.empty()) {
        std::uint64_t word = 0;
        const std::size_t size = std::min(bytes.size(), sizeof word);
        std::memcpy(&word, bytes.data(), size);
        mix(word);
        bytes = bytes.subspan(size);
    }
}

std::vector<std::string> Trace::last_lines(LobbyId lobby, ServerId server, std::size_t most) const {
    const bool all = lobby.value == 0 && server.value == 0;
    const auto concerns = [&](const TraceLine& line) {
        if (all || line.general) return true;
        if (lobby.value != 0 && line.lobby == lobby) return true;
        // Of a server, what it does with other lobbies is left out.
        return server.value != 0 && line.server == server && (lobby.value == 0 || line.lobby.value == 0);
    };
    std::vector<std::string> found;
    for (auto line = lines_.rbegin(); line != lines_.rend() && found.size() < most; ++line) {
        if (!concerns(*line)) continue;
        found.push_back(fmt::format("{:>12.6f} s  {}", to_seconds(line->when - start_), line->text));
    }
    std::reverse(found.begin(), found.end());
    return found;
}

}  // namespace muster::sim

// A round trip as a game sees it that only counts frames: from the frame that asks to the one that has the answer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace muster::sdk {

// frames × 1000 / fps, cut to whole milliseconds: 6 frames at 60 per second are 100 ms. What no 32 bits can hold
// becomes the largest number that they can, and 0 frames per second give 0.
constexpr std::uint32_t frames_to_ping_ms(std::uint32_t frames, std::uint32_t fps) {
    if (fps == 0) return 0;
    const std::uint64_t ms = std::uint64_t{frames} * 1000 / fps;
    constexpr std::uint32_t most = std::numeric_limits<std::uint32_t>::max();
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(ms, most));
}

}  // namespace muster::sdk

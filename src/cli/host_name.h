// HOST/PROCESS and HOST/RUN, as commands take them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster {

struct PlaceOnHost {
    std::string host;
    std::string name;  // of a process or a run
};

// None unless both are there and there is one slash.
std::optional<PlaceOnHost> parse_place(std::string_view text);
// Throws CommandFailure with how `what` ("PROCESS") is named.
PlaceOnHost place_on_host(std::string_view text, std::string_view what);

}  // namespace muster

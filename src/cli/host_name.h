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
// What is told when the daemon says that the host, or what is named of it, is not there, and where to look.
std::string not_there_text(const PlaceOnHost& place, std::string_view what_daemon_says);
// Throws CommandFailure with how `what` ("PROCESS") is named.
PlaceOnHost place_on_host(std::string_view text, std::string_view what);

}  // namespace muster

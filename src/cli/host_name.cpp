#include "cli/host_name.h"

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/terminal.h"
#include "process/exit_code.h"

namespace muster {

std::optional<PlaceOnHost> parse_place(std::string_view text) {
    const std::size_t slash = text.find('/');
    if (slash == std::string_view::npos || slash == 0 || slash + 1 == text.size()) return std::nullopt;
    if (text.find('/', slash + 1) != std::string_view::npos) return std::nullopt;
    return PlaceOnHost{std::string(text.substr(0, slash)), std::string(text.substr(slash + 1))};
}

std::string not_there_text(const PlaceOnHost& place, std::string_view what_daemon_says) {
    const std::string host = safe_text(place.host);
    if (what_daemon_says == "No such host") return fmt::format("no host {}; `muster hosts` lists them", host);
    return fmt::format("{}; `muster host {}` shows what it runs", what_daemon_says, host);
}

PlaceOnHost place_on_host(std::string_view text, std::string_view what) {
    if (auto place = parse_place(text)) return *place;
    throw CommandFailure(to_int(ExitCode::usage),
                         fmt::format("{} is not HOST/{}, such as eu-1/{}; `muster hosts` lists hosts, `muster host "
                                     "HOST` what one runs",
                                     safe_text(text), what, what == "RUN" ? "arena" : "arena-3"));
}

}  // namespace muster

// `muster logs HOST/PROCESS`: what a process wrote, read from afar (G-9).
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "cli/api_client.h"
#include "cli/commands.h"
#include "cli/end_on_request.h"
#include "cli/host_name.h"
#include "cli/standard_output.h"
#include "cli/terminal.h"
#include "process/exit_code.h"

namespace muster {
namespace {

constexpr std::chrono::milliseconds log_look_every{500};
constexpr std::size_t log_piece_bytes = 65'536;
// A piece as large as this may not be the last: the agent makes pieces smaller whose control characters need room.
constexpr std::size_t log_piece_full = log_piece_bytes / 4;
// Muster or the agent may be restarted meanwhile.
constexpr int log_attempts_max = 60;

struct LogsArguments {
    std::string place;
    std::int64_t bytes = 16 * 1024;
    bool follow = false;
};

// Line by line harmless: the agent has made it so, but whoever answers here may be anybody.
std::string shown(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find_first_of("\n\t"), text.size());
        out += safe_text(text.substr(0, end));
        if (end < text.size()) out += text[end];
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
}

int read(const LogsArguments& arguments) {
    if (arguments.bytes < 1 || arguments.bytes > 65'536)
        throw CommandFailure(to_int(ExitCode::usage), "--bytes wants a whole number from 1 to 65536");
    const PlaceOnHost place = place_on_host(arguments.place, "PROCESS");
    ApiClient api = ApiClient::from_environment();
    const std::string path =
        fmt::format("/hosts/{}/processes/{}/log?bytes=", query_encoded(place.host), query_encoded(place.name));
    if (arguments.follow) end_on_request();
    ApiClient::Text piece;
    try {
        piece = api.get_text(fmt::format("{}{}", path, arguments.bytes));
    } catch (const NotThere& missing) {
        throw CommandFailure(exit_failed, not_there_text(place, missing.what()));
    }
    int failed = 0;
    while (true) {
        if (const ExitCode printed = print_result(shown(piece.text)); printed != ExitCode::ok) return to_int(printed);
        if (!arguments.follow) return 0;
        if (piece.text.size() < log_piece_full) std::this_thread::sleep_for(log_look_every);
        try {
            piece = api.get_text(fmt::format("{}{}&from={}", path, log_piece_bytes, piece.position));
            failed = 0;
        } catch (const CommandFailure&) {
            if (++failed >= log_attempts_max) throw;
            piece.text.clear();
        }
    }
}

}  // namespace

Command logs_command() {
    const auto arguments = std::make_shared<LogsArguments>();
    return {"logs",
            "Show the output of a process of a host",
            {{"PROCESS", "HOST/PROCESS", "Its host, a slash and its name in `muster host HOST`: eu-1/arena-3",
              &arguments->place, true},
             {"--bytes", "N", "Show at most the last N bytes", &arguments->bytes},
             {"--follow", "", "Stream new output until Ctrl-C", &arguments->follow}},
            "Control characters are escaped. Needs the role operator, since output may hold secrets.\n",
            [arguments] { return read(*arguments); }};
}

}  // namespace muster

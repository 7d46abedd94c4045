// `muster events`: what happened, and with --follow what happens.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "base/system_clock.h"
#include "cli/commands.h"
#include "cli/figures.h"
#include "cli/listing.h"
#include "cli/standard_output.h"
#include "cli/terminal.h"
#include "daemon/config_units.h"
#include "daemon/exit_code.h"

namespace muster {
namespace {

// A lost feed is taken up again for half a minute; at first soon, since a daemon that restarts is back soon.
constexpr int attempts_max = 30;
constexpr std::chrono::milliseconds attempt_first{200};
constexpr std::chrono::milliseconds attempt_every{1000};
constexpr std::int64_t limit_max = 1000;

struct Arguments {
    bool follow = false;
    std::optional<std::string> type;
    std::optional<std::string> since;
    std::optional<std::int64_t> server;
    std::optional<std::int64_t> lobby;
    std::optional<std::int64_t> player;
    std::optional<std::int64_t> limit;
    bool json = false;
};

Style style_of(std::string_view type) {
    if (type.ends_with("offline") || type.ends_with("aborted") || type.ends_with("refused") || type == "brake.on")
        return Style::red;
    if (type.starts_with("server.")) return Style::cyan;
    if (type.starts_with("match.")) return Style::green;
    if (type.starts_with("operator.") || type.starts_with("clock.")) return Style::yellow;
    return Style::plain;
}

// On standard output at once, for whoever reads along.
void print_event(const JsonValue& event, bool json) {
    std::string line;
    if (json) {
        line = event.to_json() + "\n";
    } else {
        const std::string type = fmt::format("{:<17}", safe_text(event["type"].text()));
        line = fmt::format("{}  {}  {}\n", moment_text(event["time_ms"].integer()),
                           colours_wanted() ? styled(style_of(event["type"].text()), type) : type, event_text(event));
    }
    if (const ExitCode code = print_result(line); code != ExitCode::ok)
        throw CommandFailure(to_int(code), "no more events");
}

std::string filter_of(const Arguments& arguments) {
    std::string filter;
    if (arguments.type) filter += "&type=" + query_encoded(*arguments.type);
    if (arguments.server) filter += fmt::format("&server={}", *arguments.server);
    if (arguments.lobby) filter += fmt::format("&lobby={}", *arguments.lobby);
    if (arguments.player) filter += fmt::format("&player={}", *arguments.player);
    if (arguments.since) {
        const auto ago = parse_duration(*arguments.since);
        if (!ago)
            throw CommandFailure(to_int(ExitCode::usage),
                                 "--since wants a time such as 30s, 10m, 2h or 7d: so long ago");
        const std::int64_t since =
            SystemClock().wall().value - std::chrono::duration_cast<std::chrono::milliseconds>(*ago).count();
        filter += fmt::format("&since_ms={}", since);
    }
    return filter;
}

std::int64_t newest_id(const JsonValue& page) {
    const auto& events = page["events"].items();
    return events.empty() ? 0 : events.back()["id"].integer();
}

// Ends with the program, or by a failure: the daemon is gone for good.
[[noreturn]] void follow(ApiClient& api, const Arguments& arguments, const std::string& filter, std::int64_t last) {
    for (int attempts = 0;;) {
        try {
            api.follow(fmt::format("/events?after={}{}", last, filter), [&](std::string_view data) {
                attempts = 0;
                const auto event = JsonValue::parse(data);
                if (!event) return;
                if ((*event)["id"].is_null()) {
                    fmt::print(stderr, "muster: some events are lost, more than the daemon keeps\n");
                    return;
                }
                last = std::max(last, (*event)["id"].integer());
                print_event(*event, arguments.json);
            });
        } catch (const CommandFailure& failure) {
            if (failure.exit_code != to_int(ExitCode::unavailable) || attempts >= attempts_max) throw;
        }
        const bool first = attempts++ == 0;
        if (first) fmt::print(stderr, "muster: the connection was lost, trying again\n");
        std::this_thread::sleep_for(first ? attempt_first : attempt_every);
    }
}

int run(const Arguments& arguments) {
    const std::string filter = filter_of(arguments);
    const std::int64_t limit =
        std::clamp<std::int64_t>(arguments.limit.value_or(arguments.follow ? 10 : 100), 1, limit_max);
    ApiClient api = ApiClient::from_environment();
    // Asked first: what happens between the two questions is shown by the second, and not again by the feed.
    const std::int64_t before = arguments.follow ? newest_id(api.get("/events?limit=1")) : 0;
    const JsonValue page = api.get(fmt::format("/events?limit={}{}", limit, filter));
    if (arguments.json && !arguments.follow) return print_json(page.to_json());
    for (const JsonValue& event : page["events"].items()) print_event(event, arguments.json);
    if (!arguments.follow) return 0;
    follow(api, arguments, filter, std::max(before, newest_id(page)));
}

}  // namespace

Command events_command() {
    const auto arguments = std::make_shared<Arguments>();
    return {
        "events",
        "What happened, and with --follow what happens",
        {{"--follow", "", "Go on with what happens, until Ctrl-C", &arguments->follow},
         {"--type", "TYPES", "Only types that begin so, parted by commas: match.,server.offline", &arguments->type},
         {"--since", "TIME", "Only of the last 30s, 10m, 2h, 7d", &arguments->since},
         {"--server", "ID", "Only of this server", &arguments->server},
         {"--lobby", "ID", "Only of this lobby", &arguments->lobby},
         {"--player", "ID", "Only of this player", &arguments->player},
         {"--limit", "N", "The newest N that happened before, at most 1000 (100, with --follow 10)", &arguments->limit},
         json_option(arguments->json)},
        "With --follow, --json prints one object a line.\n",
        [arguments] { return run(*arguments); }};
}

}  // namespace muster

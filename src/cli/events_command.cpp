// `muster events`: past events; with --follow also new ones, as they happen.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "base/system_clock.h"
#include "cli/commands.h"
#include "cli/end_on_request.h"
#include "cli/event_line.h"
#include "cli/figures.h"
#include "cli/listing.h"
#include "cli/standard_output.h"
#include "cli/terminal.h"
#include "config/config_units.h"
#include "config/nearest_name.h"
#include "process/exit_code.h"

namespace muster {
namespace {

// A lost feed is taken up again for half a minute; at first soon, since a daemon that restarts is back soon.
constexpr int attempts_max = 30;
constexpr std::chrono::milliseconds attempt_first{200};
constexpr std::chrono::milliseconds attempt_every{1000};
constexpr std::int64_t limit_max = 1000;

struct EventsArguments {
    bool follow = false;
    std::optional<std::string> type;
    std::optional<std::string> since;
    std::optional<std::int64_t> server;
    std::optional<std::int64_t> lobby;
    std::optional<std::int64_t> player;
    std::optional<std::int64_t> limit;
    bool json = false;
};

// All that the daemon tells of.
constexpr std::array<std::string_view, 37> types{
    "server.registered", "server.resumed",     "server.offline",  "server.removed",  "server.draining",
    "server.refused",    "matchmaker.refused", "match.requested", "match.offered",   "match.declined",
    "match.allocated",   "match.refused",      "match.ready",     "match.started",   "match.ended",
    "match.aborted",     "match.wrong_tokens", "player.login",    "player.resumed",  "player.idle",
    "player.active",     "player.closed",      "entity.deleted",  "clock.jump",      "brake.on",
    "brake.off",         "block.expired",      "history.damaged", "operator.action", "host.joined",
    "host.left",         "host.forgotten",     "process.started", "process.ready",   "process.exited",
    "process.unhealthy", "process.crash_loop",
};

// What was probably meant: types that have it in them, or the one that is nearest, or all beginnings.
std::string nearest_types(std::string_view typed) {
    std::vector<std::string> known;
    std::string beginnings;
    std::string holding;
    for (const std::string_view type : types) {
        const std::string beginning(type.substr(0, type.find('.') + 1));
        if (std::find(known.begin(), known.end(), beginning) == known.end()) {
            known.push_back(beginning);
            beginnings += fmt::format("{}{}", beginnings.empty() ? "" : ", ", beginning);
        }
        known.emplace_back(type);
        if (type.find(typed) != std::string_view::npos)
            holding += fmt::format("{}{}", holding.empty() ? "" : " or ", type);
    }
    if (!holding.empty()) return fmt::format("did you mean {}?", holding);
    if (const auto nearest = nearest_name(typed, known)) return fmt::format("did you mean {}?", *nearest);
    return "they begin with " + beginnings;
}

// A type that no event has would wait for ever.
void check_types(std::string_view wanted) {
    while (!wanted.empty()) {
        const std::string_view one = wanted.substr(0, wanted.find(','));
        wanted.remove_prefix(std::min(one.size() + 1, wanted.size()));
        const bool known =
            std::any_of(types.begin(), types.end(), [&](std::string_view type) { return type.starts_with(one); });
        if (!known)
            throw CommandFailure(to_int(ExitCode::usage),
                                 fmt::format("no event is of type {}; {}", safe_text(one), nearest_types(one)));
    }
}

// On standard output at once, for whoever reads along.
class EventPrinter {
public:
    EventPrinter(ApiClient& api, bool json) : json_(json) {
        if (!json) regions_.emplace(api);
    }

    void print(const JsonValue& event) {
        if (const ExitCode code = print_result((json_ ? event.to_json() : line(event)) + "\n"); code != ExitCode::ok)
            throw CommandFailure(to_int(code), "no more events");
    }

private:
    std::string line(const JsonValue& event) {
        form_.moment_columns = std::max(form_.moment_columns, moment_text(event["time_ms"].integer()).size());
        return event_line(event, *regions_, form_);
    }

    bool json_;
    std::optional<RegionNames> regions_;  // none: as JSON
    EventLineForm form_{.colours = colours_wanted()};
};

std::string filter_of(const EventsArguments& arguments) {
    std::string filter;
    if (arguments.type) check_types(*arguments.type);
    if (arguments.type) filter += "&type=" + query_encoded(*arguments.type);
    if (arguments.server) filter += fmt::format("&server={}", *arguments.server);
    if (arguments.lobby) filter += fmt::format("&lobby={}", *arguments.lobby);
    if (arguments.player) filter += fmt::format("&player={}", *arguments.player);
    if (arguments.since) {
        const auto ago = parse_duration(*arguments.since);
        if (!ago) throw CommandFailure(to_int(ExitCode::usage), "--since wants a time span such as 30s, 10m, 2h or 7d");
        const std::int64_t since =
            SystemClock().wall().value - std::chrono::duration_cast<std::chrono::milliseconds>(*ago).count();
        filter += fmt::format("&since_ms={}", since);
    }
    return filter;
}

// After which a feed goes on; where there are several cells, the daemon says.
std::string place_after(const JsonValue& page) {
    if (!page["latest"].is_null()) return std::string(page["latest"].text());
    const auto events = page["events"].items();
    return events.empty() ? "0" : std::to_string(events.back()["id"].integer());
}

// Ends with the program, or by a failure: the daemon is gone for good.
// What was `printed` already is left out.
[[noreturn]] void follow(ApiClient& api, EventPrinter& printer, const std::string& filter, std::string last,
                         const std::set<std::int64_t>& printed) {
    for (int attempts = 0;;) {
        try {
            api.follow(fmt::format("/events?after={}{}", last, filter), [&](std::string_view data, const auto& place) {
                attempts = 0;
                const auto event = JsonValue::parse(data);
                if (!event) return;
                if ((*event)["id"].is_null()) {
                    print_error("muster: events were skipped: the daemon no longer has them\n");
                    return;
                }
                if (!place.empty()) last = place;
                if (!printed.contains((*event)["id"].integer())) printer.print(*event);
            });
        } catch (const CommandFailure& failure) {
            if (failure.exit_code != to_int(ExitCode::unavailable) || attempts >= attempts_max) throw;
        }
        const bool first = attempts++ == 0;
        if (first) print_error("muster: connection lost, reconnecting\n");
        std::this_thread::sleep_for(first ? attempt_first : attempt_every);
    }
}

int run(const EventsArguments& arguments) {
    const std::string filter = filter_of(arguments);
    const std::int64_t limit = arguments.limit.value_or(arguments.follow ? 10 : 100);
    if (limit < 1 || limit > limit_max)
        throw CommandFailure(to_int(ExitCode::usage), fmt::format("--limit wants a number from 1 to {}", limit_max));
    ApiClient api = ApiClient::from_environment();
    // Asked first: what happens between the two questions is shown by the second, and not again by the feed.
    const std::string before = arguments.follow ? place_after(api.get("/events?limit=1")) : "";
    const JsonValue page = api.get(fmt::format("/events?limit={}{}", limit, filter));
    if (arguments.json && !arguments.follow) return print_json(page.to_json());
    EventPrinter printer(api, arguments.json);
    std::set<std::int64_t> printed;
    for (const JsonValue& event : page["events"].items()) {
        printer.print(event);
        printed.insert(event["id"].integer());
    }
    if (!arguments.follow) return 0;
    end_on_request();
    follow(api, printer, filter, before, printed);
}

}  // namespace

Command events_command() {
    const auto arguments = std::make_shared<EventsArguments>();
    return {"events",
            "List past events; --follow streams new ones",
            {{"--follow", "", "Stream new events until Ctrl-C", &arguments->follow},
             {"--type", "TYPES", "Only types with one of these prefixes, comma-separated: match.,server.offline",
              &arguments->type},
             {"--since", "TIME", "Only events of the last 30s, 10m, 2h, 7d", &arguments->since},
             {"--server", "ID", "Only events of this server", &arguments->server},
             {"--lobby", "ID", "Only events of this lobby", &arguments->lobby},
             {"--player", "ID", "Only events of this player", &arguments->player},
             {"--limit", "N", "Show the newest N past events, at most 1000 (default 100, with --follow 10)",
              &arguments->limit},
             json_option(arguments->json)},
            "With --follow, --json prints one object per line.\n",
            [arguments] { return run(*arguments); }};
}

}  // namespace muster

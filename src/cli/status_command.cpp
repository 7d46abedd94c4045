// `muster status`: whether the whole is well, on one screen.
#include <memory>
#include <string>

#include <fmt/format.h>

#include "cli/api_client.h"
#include "cli/commands.h"
#include "cli/figures.h"
#include "cli/listing.h"
#include "cli/region_table.h"
#include "cli/standard_output.h"
#include "cli/terminal.h"
#include "cli/text_table.h"

namespace muster {
namespace {

struct StatusArguments {
    bool json = false;
};

std::string health_text(const JsonValue& health, bool colours) {
    const std::string status = safe_text(health["status"].text());
    std::string text = colours ? styled(status_style(status), status) : status;
    for (const JsonValue& reason : health["reasons"].items()) text += "\n    " + safe_text(reason.text());
    return text;
}

std::string failures_text(const JsonValue& failures) {
    std::string text;
    for (const auto& [reason, count] : failures.fields())
        if (count.integer() > 0)
            text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count.integer(), safe_text(reason));
    return text.empty() ? "none failed" : text;
}

std::string status_text(const JsonValue& overview, bool colours) {
    const JsonValue allocations = overview["allocations"];
    const JsonValue matches = overview["matches"];
    const JsonValue players = overview["players"];
    const JsonValue loop = overview["loop"];
    const JsonValue store = overview["store"];
    const auto succeeded = static_cast<double>(allocations["successes"].integer());
    const auto requested = static_cast<double>(allocations["requests"].integer());
    const auto latency = [&](const char* percentile) {
        return succeeded > 0 ? span_text(allocations[percentile].number() / 1000) : std::string("-");
    };

    std::string text = described(
        {
            {"health", {health_text(overview["health"], colours)}},
            {"version",
             {fmt::format("{}, up {}{}", safe_text(overview["version"].text()),
                          span_text(static_cast<double>(overview["uptime_s"].integer())),
                          overview["node"].is_null() ? "" : ", node " + safe_text(overview["node"].text()))}},
            {"matches",
             {fmt::format("{} started, {} ready, {} allocated, {} offering", matches["started"].integer(),
                          matches["ready"].integer(), matches["allocated"].integer(), matches["offering"].integer())}},
            {"allocations",
             {fmt::format("{} requested, {} succeeded ({}), {} in flight, {} retries; {}",
                          allocations["requests"].integer(), allocations["successes"].integer(),
                          share_text(succeeded, requested), allocations["in_flight"].integer(),
                          allocations["retries"].integer(), failures_text(allocations["failures"]))}},
            {"", {fmt::format("p50 {}, p95 {}, p99 {}", latency("p50_ms"), latency("p95_ms"), latency("p99_ms"))}},
            {"players",
             {fmt::format("{} connected, {} idle, {} reconnecting", players["connected"].integer(),
                          players["idle"].integer(), players["in_grace"].integer())}},
            {"matchmakers", {fmt::to_string(overview["matchmakers"].integer())}},
            {"clock", {clock_text(overview["clock"])}},
            {"loop",
             {fmt::format("{} passes/s, {:.2f} ms average, {:.1f} ms max, {} messages/s, {} overruns",
                          short_number(loop["ticks_per_second"].number()), loop["tick_avg_ms"].number(),
                          loop["tick_max_ms"].number(), short_number(loop["messages_per_second"].number()),
                          loop["overruns"].integer())}},
            {"store",
             {store["up"].flag() ? fmt::format("up, {} batches queued", store["queue_depth"].integer())
                                 : std::string("down"),
              store["up"].flag() ? Style::plain : Style::red}},
        },
        colours, output_columns());
    return text + "\n" + region_table(overview["regions"]).to_text(colours);
}

int show(const StatusArguments& arguments) {
    ApiClient api = ApiClient::from_environment();
    const JsonValue overview = api.get("/overview");
    const bool bad = overview["health"]["status"].text() == "bad";
    const int printed =
        arguments.json ? print_json(overview.to_json()) : to_int(print_result(status_text(overview, colours_wanted())));
    if (printed != 0) return printed;
    return bad ? exit_failed : 0;
}

}  // namespace

Command status_command() {
    const auto arguments = std::make_shared<StatusArguments>();
    return {"status",
            "Health, and the fleet by region",
            {json_option(arguments->json)},
            "Exit code 1 when health is bad; a warning still exits 0.\n",
            [arguments] { return show(*arguments); }};
}

}  // namespace muster

#include "cli/match_timeline.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "cli/figures.h"
#include "cli/terminal.h"

namespace muster {
namespace {

std::string server_text(const JsonValue& event) {
    return fmt::format("server {}", event["server_id"].integer());
}

std::string with_reason(std::string text, const JsonValue& event) {
    const std::string reason = safe_text(event["reason"].text());
    if (reason.empty()) return text;
    return text.empty() ? reason : fmt::format("{}: {}", text, reason);
}

// Why this server: what it was chosen from. Events of an older daemon do not tell.
std::string choice_text(const JsonValue& event) {
    if (event["candidates"].is_null()) return "";
    const std::int64_t candidates = event["candidates"].integer();
    std::string text = fmt::format(", {}: score {:.2f}, load {}",
                                   candidates == 1 ? "the only candidate" : fmt::format("best of {}", candidates),
                                   event["score"].number(), event["load"].integer());
    std::string next;
    for (const JsonValue& one : event["next_best"].items())
        next += fmt::format("{}{} ({:.2f}, load {})", next.empty() ? "; next " : ", ", one["id"].integer(),
                            one["score"].number(), one["load"].integer());
    return text + next;
}

TimelineStep step_of(const JsonValue& event, const RegionNames& regions) {
    const std::string_view type = event["type"].text();
    TimelineStep step{event["time_ms"].integer(), safe_text(type.substr(type.find('.') + 1)), {}};
    if (type == "match.requested") {
        step.text = fmt::format("by {} over HTTP, from {}, for {}", safe_text(event["matchmaker"].text()),
                                safe_text(event["who"].text()), regions.name(event["region"].integer()));
    } else if (type == "match.offered") {
        const std::int64_t attempt = event["attempt"].integer();
        step.text = server_text(event) + choice_text(event) + (attempt > 1 ? fmt::format("; offer {}", attempt) : "");
    } else if (type == "match.allocated") {
        step.text = fmt::format("{}, {} after the request", server_text(event), span_text(event["seconds"].number()));
    } else if (type == "match.refused") {
        step.text = with_reason(fmt::format("after {}", span_text(event["seconds"].number())), event);
    } else if (type == "match.wrong_tokens") {
        step.what = "tokens";
        step.text = fmt::format("{} wrong ones tried on {}", event["count"].integer(), server_text(event));
    } else if (type == "operator.action") {
        step.what = "operator";
        step.text = with_reason(
            fmt::format("{} by {}", safe_text(event["action"].text()), safe_text(event["who"].text())), event);
    } else if (type.starts_with("match.")) {
        step.text = with_reason(server_text(event), event);
    } else {
        step.what = safe_text(type);
        step.text = with_reason({}, event);
    }
    return step;
}

}  // namespace

std::vector<TimelineStep> timeline_of(const JsonValue& match, const std::vector<JsonValue>& events,
                                      const RegionNames& regions) {
    std::vector<TimelineStep> steps;
    const auto is_request = [](const JsonValue& event) { return event["type"].text() == "match.requested"; };
    if (!match.is_null() && std::none_of(events.begin(), events.end(), is_request)) {
        steps.push_back({match["requested_at_ms"].integer(), "requested",
                         fmt::format("by {}: {} players in {}", safe_text(match["matchmaker"].text()),
                                     match["player_count"].integer(), regions.name(match["region"].integer()))});
    }
    for (const JsonValue& event : events) steps.push_back(step_of(event, regions));
    for (const JsonValue& player : match["players"].items()) {
        if (player["joined_at_ms"].is_null()) continue;
        steps.push_back({player["joined_at_ms"].integer(), "let in", fmt::format("player {}", player["id"].integer())});
    }
    std::stable_sort(steps.begin(), steps.end(),
                     [](const TimelineStep& one, const TimelineStep& other) { return one.time_ms < other.time_ms; });
    return steps;
}

}  // namespace muster

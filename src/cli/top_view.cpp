#include "cli/top_view.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "cli/event_line.h"
#include "cli/figures.h"
#include "cli/region_table.h"
#include "cli/server_table.h"

namespace muster {
namespace {

constexpr std::size_t rates_max = 40;
constexpr std::size_t event_lines_max = 6;
constexpr std::size_t server_lines_min = 4;  // events make way before servers do

// Of the newest `most`.
std::string sparkline(const std::deque<double>& all, std::size_t most) {
    constexpr std::array steps{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    const auto shown = static_cast<std::ptrdiff_t>(std::min(all.size(), most));
    const std::vector<double> values(all.end() - shown, all.end());
    const double highest = values.empty() ? 0 : *std::max_element(values.begin(), values.end());
    std::string text;
    for (const double value : values) {
        const double share = highest > 0 ? value / highest : 0;
        text += steps[static_cast<std::size_t>(std::lround(share * static_cast<double>(steps.size() - 1)))];
    }
    return text;
}

std::string in_style(Style style, std::string_view text, bool colours) {
    return colours ? styled(style, text) : std::string(text);
}

void append(std::vector<std::string>& to, std::vector<std::string> more) {
    to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

void TopView::take(TopSample sample) {
    const bool first = overview_.is_null();
    const bool newer = sample.overview["time_ms"].integer() > overview_["time_ms"].integer();
    allocations_.take(sample.overview);
    if (!first && newer) {
        rates_.push_back(allocations_.per_second());
        if (rates_.size() > rates_max) rates_.pop_front();
    }
    overview_ = std::move(sample.overview);
    events_ = std::move(sample.events);
    asked_node_ = std::move(sample.asked_node);
    if (sample.servers) {
        servers_ = std::move(*sample.servers);
        sort_servers(servers_, server_orders[order_]);
    }
    trouble_.clear();
}

void TopView::next_order() {
    order_ = (order_ + 1) % server_orders.size();
    sort_servers(servers_, server_orders[order_]);
}

std::vector<std::string> TopView::lines(const TerminalSize& size, bool colours) const {
    std::vector<std::string> all = head(size.columns, colours);
    all.emplace_back();
    append(all, region_table(overview_["regions"]).lines(colours, size.columns));
    all.emplace_back();
    append(all, figures(size.columns));
    all.emplace_back();

    const std::size_t left = size.rows > all.size() ? size.rows - all.size() : 0;
    const std::size_t for_events = left > server_lines_min + 3 ? std::min(event_lines_max, (left - 3) / 3) : 0;
    std::vector<std::string> events = event_lines(for_events, colours);
    const std::size_t for_servers = left - std::min(left, events.empty() ? 0 : events.size() + 1);

    const auto shown = static_cast<std::ptrdiff_t>(std::min(servers_.size(), for_servers));
    std::vector<std::string> table =
        server_table({servers_.begin(), servers_.begin() + shown}, regions_).lines(colours, size.columns);
    if (table.size() > for_servers) table.resize(for_servers);
    append(all, std::move(table));
    if (!events.empty()) {
        all.emplace_back();
        append(all, std::move(events));
    }
    return all;
}

// What was healthy when it was last heard may be gone now.
std::string TopView::health() const {
    return trouble_.empty() ? safe_text(overview_["health"]["status"].text()) : "unknown";
}

// Health and keys stay; the rest is shown as far as there are columns for it.
std::string TopView::first_line(std::size_t columns, bool colours) const {
    const std::string health = this->health();
    const std::string keys = fmt::format("servers by {}  q quits, s sorts", server_orders[order_]);
    // What is shown is the owner's, whichever node was asked.
    const std::string owner = safe_text(overview_["node"].text());
    const std::string node = overview_["node"].is_null() ? ""
                             : asked_node_.empty() || asked_node_ == owner
                                 ? fmt::format(" on {}", owner)
                                 : fmt::format(" on {}, owner {}", safe_text(asked_node_), owner);
    const std::string version = " " + safe_text(overview_["version"].text()) + node;
    const std::string up = "  up " + span_text(overview_["uptime_s"].number());
    const std::string url = "  " + safe_text(url_);
    constexpr std::size_t fixed = std::string_view("muster  health   ").size();
    std::size_t left = columns - std::min(columns, fixed + shown_width(health) + shown_width(keys));
    const auto if_it_fits = [&left](const std::string& part) {
        const std::size_t width = shown_width(part);
        if (width > left) return std::string();
        left -= width;
        return part;
    };
    const std::string name = "muster" + if_it_fits(version);
    const std::string age = if_it_fits(up);
    return fmt::format("{}{}  health {}  {}{}", in_style(Style::bold, name, colours), age,
                       in_style(trouble_.empty() ? status_style(health) : Style::red, health, colours), keys,
                       if_it_fits(url));
}

std::vector<std::string> TopView::head(std::size_t columns, bool colours) const {
    const std::string health = safe_text(overview_["health"]["status"].text());
    std::vector<std::string> lines{first_line(columns, colours)};
    if (!trouble_.empty()) {
        lines.push_back(in_style(Style::red, trouble_, colours));
        const std::string when = moment_text(overview_["time_ms"].integer());
        lines.push_back(in_style(Style::red, fmt::format("trying again; all below is as of {}", when), colours));
    }
    for (const JsonValue& reason : overview_["health"]["reasons"].items())
        lines.push_back(in_style(status_style(health), safe_text(reason.text()), colours));
    return lines;
}

std::vector<std::string> TopView::figures(std::size_t columns) const {
    const JsonValue& overview = overview_;
    const JsonValue allocations = overview["allocations"];
    const JsonValue matches = overview["matches"];
    const JsonValue players = overview["players"];
    const JsonValue loop = overview["loop"];
    const auto percentile = [&](double share) {
        const auto seconds = allocations_.seconds(share);
        return seconds ? span_text(*seconds) : std::string("-");
    };
    std::string rates =
        fmt::format("Allocations  {}/s  {} in flight  last minute: {} given  p50 {}  p95 {}  p99 {}  ",
                    short_number(allocations_.per_second()), allocations["in_flight"].integer(),
                    share_text(allocations_.share_given().value_or(0), allocations_.share_given() ? 1 : 0),
                    percentile(0.50), percentile(0.95), percentile(0.99));
    rates += sparkline(rates_, columns - std::min(columns, shown_width(rates)));
    return {
        rates,
        fmt::format("Matches      {} started  {} ready  {} allocated  {} offering", matches["started"].integer(),
                    matches["ready"].integer(), matches["allocated"].integer(), matches["offering"].integer()),
        fmt::format("Players      {} connected  {} idle  {} away    clock {}", players["connected"].integer(),
                    players["idle"].integer(), players["in_grace"].integer(), clock_text(overview["clock"])),
        fmt::format("Loop         {} passes/s  {:.2f} ms, at most {:.1f}  {} messages/s  {} too long  {} errors",
                    short_number(loop["ticks_per_second"].number()), loop["tick_avg_ms"].number(),
                    loop["tick_max_ms"].number(), short_number(loop["messages_per_second"].number()),
                    loop["overruns"].integer(), loop["callback_errors"].integer()),
    };
}

std::vector<std::string> TopView::event_lines(std::size_t most, bool colours) const {
    std::vector<std::string> lines;
    const auto events = events_.items();
    for (std::size_t i = events.size() > most ? events.size() - most : 0; i < events.size(); ++i)
        lines.push_back(event_line(events[i], regions_, {.colours = colours}));
    return lines;
}

}  // namespace muster

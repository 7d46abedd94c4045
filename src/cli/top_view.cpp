#include "cli/top_view.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "cli/figures.h"
#include "cli/region_table.h"
#include "cli/server_table.h"

namespace muster {
namespace {

constexpr std::size_t rates_max = 40;
constexpr std::size_t event_lines_max = 6;
constexpr std::size_t server_lines_min = 4;  // events make way before servers do

std::string sparkline(const std::deque<double>& values) {
    constexpr std::array steps{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    const double most = values.empty() ? 0 : *std::max_element(values.begin(), values.end());
    std::string text;
    for (const double value : values) {
        const double share = most > 0 ? value / most : 0;
        text += steps[static_cast<std::size_t>(share * static_cast<double>(steps.size() - 1) + 0.5)];
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
    std::vector<std::string> all = head(colours);
    all.emplace_back();
    append(all, region_table(overview_["regions"]).lines(colours));
    all.emplace_back();
    append(all, figures());
    all.emplace_back();

    const std::size_t left = size.rows > all.size() ? size.rows - all.size() : 0;
    const std::size_t for_events = left > server_lines_min + 3 ? std::min(event_lines_max, (left - 3) / 3) : 0;
    std::vector<std::string> events = event_lines(for_events, colours);
    const std::size_t for_servers = left - std::min(left, events.empty() ? 0 : events.size() + 1);

    const auto shown = static_cast<std::ptrdiff_t>(std::min(servers_.size(), for_servers));
    std::vector<std::string> table =
        server_table({servers_.begin(), servers_.begin() + shown}, regions_).lines(colours);
    if (table.size() > for_servers) table.resize(for_servers);
    append(all, std::move(table));
    if (!events.empty()) {
        all.emplace_back();
        append(all, std::move(events));
    }
    return all;
}

std::vector<std::string> TopView::head(bool colours) const {
    const JsonValue& overview = overview_;
    const std::string health = safe_text(overview["health"]["status"].text());
    std::vector<std::string> lines{
        fmt::format("{}  up {}  health {}  servers by {}  (q quits, s sorts)  {}",
                    in_style(Style::bold, fmt::format("muster {}", safe_text(overview["version"].text())), colours),
                    span_text(overview["uptime_s"].number()), in_style(status_style(health), health, colours),
                    server_orders[order_], safe_text(url_))};
    if (!trouble_.empty()) lines.push_back(in_style(Style::red, trouble_, colours));
    for (const JsonValue& reason : overview["health"]["reasons"].items())
        lines.push_back(in_style(status_style(health), safe_text(reason.text()), colours));
    return lines;
}

std::vector<std::string> TopView::figures() const {
    const JsonValue& overview = overview_;
    const JsonValue& allocations = overview["allocations"];
    const JsonValue& matches = overview["matches"];
    const JsonValue& players = overview["players"];
    const JsonValue& loop = overview["loop"];
    const auto percentile = [&](double share) {
        const auto seconds = allocations_.seconds(share);
        return seconds ? span_text(*seconds) : std::string("-");
    };
    return {
        fmt::format("Allocations  {}/s  {} in flight  last minute: {} given  p50 {}  p95 {}  p99 {}  {}",
                    short_number(allocations_.per_second()), allocations["in_flight"].integer(),
                    share_text(allocations_.share_given().value_or(0), allocations_.share_given() ? 1 : 0),
                    percentile(0.50), percentile(0.95), percentile(0.99), sparkline(rates_)),
        fmt::format("Matches      {} started  {} ready  {} allocated  {} offering", matches["started"].integer(),
                    matches["ready"].integer(), matches["allocated"].integer(), matches["offering"].integer()),
        fmt::format("Players      {} connected  {} idle  {} away    clock {}", players["connected"].integer(),
                    players["idle"].integer(), players["in_grace"].integer(), clock_text(overview["clock"])),
        fmt::format(
            "Loop         {} passes/s  {:.2f} ms each  {:.1f} ms at most  {} messages/s  {} too long  {} errors",
            short_number(loop["ticks_per_second"].number()), loop["tick_avg_ms"].number(), loop["tick_max_ms"].number(),
            short_number(loop["messages_per_second"].number()), loop["overruns"].integer(),
            loop["callback_errors"].integer()),
    };
}

std::vector<std::string> TopView::event_lines(std::size_t most, bool colours) const {
    std::vector<std::string> lines;
    const auto& events = events_.items();
    for (std::size_t i = events.size() > most ? events.size() - most : 0; i < events.size(); ++i) {
        lines.push_back(fmt::format("{}  {}  {}", moment_text(events[i]["time_ms"].integer()),
                                    in_style(Style::cyan, safe_text(events[i]["type"].text()), colours),
                                    event_text(events[i])));
    }
    return lines;
}

}  // namespace muster
